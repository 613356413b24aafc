"""A reward as a file: what `rewardkit serve` and `rewardkit score` read."""

import hashlib
import importlib
import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit._install import install_command
from rewardkit.errors import ConfigError, DataError, EngineMissingError
from rewardkit.reward import Gate, Reward, Shaper
from rewardkit.verifier import Verifier
from rewardkit.verifiers._names import did_you_mean
from rewardkit.verifiers.catalog import make_verifier

__all__ = ["load_module", "load_reward", "make_reward", "read_reward"]

_TOP = ("verifier", "options", "factory", "components", "combine", "clip", "missing")
_COMPONENT = ("verifier", "options", "factory", "weight", "reference", "gate")


def load_reward(source: str) -> Reward:
    """Returns the reward that a text names: `reward.yaml`, `file.py:name`, `package.module:name`.

    In Python the name is a `Reward`, a verifier, a function of the batch, or a function without
    arguments that returns one of these.

    Args:
        source: as above; a file `.yaml`, `.yml` or `.json` is one for `read_reward`.

    Raises:
        DataError: a file cannot be read.
        ConfigError: it names nothing that is a reward.
        EngineMissingError: the file is in YAML, and pyyaml is not installed.
    """
    if source.lower().endswith((".yaml", ".yml", ".json")):
        return read_reward(source)
    place, _, name = source.rpartition(":")
    if not place or not name:
        raise ConfigError(
            f"the reward {source!r}: give reward.yaml, file.py:name or package.module:name"
        )
    found: Any = load_module(place)
    for part in name.split("."):
        found = getattr(found, part, None)
    if inspect.isfunction(found) and not inspect.signature(found).parameters:
        found = found()
    if isinstance(found, Reward):
        return found
    if found is None or isinstance(found, type):
        raise ConfigError(f"{place} has no object {name!r} that is a reward")
    try:
        return Reward({getattr(found, "name", None) or name.rpartition(".")[2]: found})
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def load_module(place: str) -> ModuleType:
    """Returns a module by its name, or by its file. The file's folder is added to the path.

    Args:
        place: a file that ends in `.py`, or a module.

    Raises:
        ConfigError: there is no such module or file. What the module itself raises is not caught.
    """
    if not place.endswith(".py"):
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{place}.".startswith(f"{error.name}."):
                raise
            raise ConfigError(f"no module {place!r}: is its folder in PYTHONPATH?") from None
    path = Path(place).resolve()
    if not path.is_file():
        raise ConfigError(f"{place}: no such file")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    name = f"_reward_{re.sub(r'[^0-9a-zA-Z]', '_', path.stem)}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise ConfigError(f"{place} cannot be imported")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # pickling looks its functions up there
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def read_reward(path: Path | str) -> Reward:
    """Returns the reward that a file describes, as `make_reward` does.

    Args:
        path: a `.json` file, or one in YAML.

    Raises:
        DataError: the file cannot be read.
        ConfigError: a field is unknown or wrong.
        EngineMissingError: the file is in YAML, and pyyaml is not installed.
    """
    file = Path(path)
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    data = _parse_json(file, text) if file.suffix == ".json" else _parse_yaml(file, text)
    if not isinstance(data, dict):
        raise ConfigError(f"{file}: give the fields of a reward, as in `verifier: math`")
    try:
        return make_reward(data)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def make_reward(fields: Mapping[str, Any]) -> Reward:
    r"""Returns the reward that plain data describes.

    Either `verifier` (with `options`), or `factory` (`my_module:function`, called with `options`,
    which returns a `Reward`), or `components`: a mapping from names to a `verifier` or a `factory`
    of a shaper, each with `options`, `weight`, `reference` (a column) and `gate` (`at_least`,
    `otherwise`). `combine`, `clip` and `missing` are those of `Reward`.

    Raises:
        ConfigError: a field is unknown or wrong.

    >>> reward = make_reward({"components": {"math": {"verifier": "math", "weight": 0.5}}})
    >>> reward.score(["\\boxed{4}"], reference=["4"]).scores
    [0.5]
    """
    _check_fields("the reward", fields, _TOP)
    parts = fields.get("components")
    if parts is None:
        made = _make("the reward", fields)
        if isinstance(made, Reward):
            return made
        name = str(fields.get("verifier", "component")).rpartition(":")[2]
        return Reward({name: made})
    if not isinstance(parts, Mapping) or not parts:
        raise ConfigError("components: give a name to each, as in `math: {verifier: math}`")
    for name in ("verifier", "factory", "options"):
        if name in fields:
            raise ConfigError(f"{name} is given beside components: put it into one of them")
    return _compose(fields, {str(name): part for name, part in parts.items()})


def _compose(fields: Mapping[str, Any], parts: Mapping[str, Any]) -> Reward:
    for name, part in parts.items():
        _check_fields(f"component {name}", part, _COMPONENT)
    clip = fields.get("clip")
    return Reward(
        {name: _make(f"component {name}", part) for name, part in parts.items()},
        weights={name: part["weight"] for name, part in parts.items() if "weight" in part},
        gates={name: _gate(name, part["gate"]) for name, part in parts.items() if "gate" in part},
        references={n: str(part["reference"]) for n, part in parts.items() if "reference" in part},
        combine=fields.get("combine", "sum"),
        clip=tuple(clip) if isinstance(clip, list) else clip,
        missing=fields.get("missing", "propagate"),
    )


def _make(where: str, fields: Mapping[str, Any]) -> "Verifier | Shaper | Reward":
    options = fields.get("options") or {}
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise ConfigError(f"{where}: options is a mapping from names to values")
    if ("verifier" in fields) == ("factory" in fields):
        raise ConfigError(f"{where}: give either verifier or factory")
    if "verifier" in fields:
        return make_verifier(str(fields["verifier"]), **options)
    function = _function(str(fields["factory"]))
    _check_arguments(where, str(fields["factory"]), function, options)
    made: Any = function(**options)
    if not callable(made) and not isinstance(made, Verifier | Reward):
        raise ConfigError(
            f"{where}: {fields['factory']} returned a {type(made).__name__}: it returns a Reward, "
            "a verifier, or a function of the batch"
        )
    return made  # type: ignore[no-any-return]


def _check_arguments(
    where: str, path: str, function: Callable[..., object], options: Mapping[str, object]
) -> None:
    """Checks options against a function's own arguments; one without a signature takes any."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(**options)
    except TypeError as error:
        known = list(signature.parameters)
        unknown = next((name for name in options if name not in known), None)
        near = "" if unknown is None else did_you_mean(unknown, known)
        raise ConfigError(
            f"{where}: {path}: {error}{near}. Its options: {', '.join(known) or 'none'}"
        ) from None


def _function(path: str) -> Callable[..., object]:
    module_name, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), name, None) if name else None
    except ModuleNotFoundError as error:
        raise ConfigError(f"factory {path!r}: {error}. Is its folder in PYTHONPATH?") from None
    if not callable(found):
        raise ConfigError(f"factory {path!r}: name a function, as in my_module:make_reward")
    return found  # type: ignore[no-any-return]


def _gate(name: str, fields: object) -> Gate:
    _check_fields(f"component {name}: gate", fields, ("at_least", "otherwise"))
    try:
        return Gate(**{key: float(value) for key, value in dict(fields).items()})  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise ConfigError(f"component {name}: the gate's fields are numbers") from None


def _check_fields(where: str, fields: object, known: tuple[str, ...]) -> None:
    if not isinstance(fields, Mapping):
        raise ConfigError(f"{where}: give fields, of {', '.join(known)}")
    for name in fields:
        if name not in known:
            near = did_you_mean(name, known)
            raise ConfigError(f"{where} has no field {name!r}{near}; there are: {', '.join(known)}")


def _parse_json(file: Path, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} is no JSON: {error}") from None


def _parse_yaml(file: Path, text: str) -> object:
    try:
        import yaml
    except ImportError:
        raise EngineMissingError("pyyaml", install_command("serve")) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DataError(f"{file} is no YAML: {error}") from None
