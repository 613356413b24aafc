prelude
import Init.List
