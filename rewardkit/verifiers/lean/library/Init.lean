-- A small core library for a Lean that has none beside it. Names, types and the order of constructors
-- are those that the compiled elaborator of Lean 4.35 (Apache-2.0) looks up, and so are not ours to
-- choose; what it does not look up is left out.
prelude
import Init.List
