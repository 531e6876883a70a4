from typing import Any, Optional

__version__: str

class InputError(ValueError):
    diagnostics: list[dict[str, Any]]

class InternalError(RuntimeError): ...

class Fabric:
    @staticmethod
    def load(name_or_path: str, nodes: int, params: dict[str, str]) -> Fabric: ...
    @property
    def name(self) -> str: ...
    @property
    def gpus(self) -> list[str]: ...
    @property
    def bisection_GBps(self) -> float: ...
    def slice(self, ranks: list[int]) -> Fabric: ...

def catalog_names() -> list[str]: ...
def op_names() -> list[str]: ...
def parse_sizes(text: str) -> list[int]: ...
def collective(
    fabric: Fabric,
    op: str,
    sizes: list[int],
    *,
    nccl: str,
    env: dict[str, str],
    launch: str,
    launch_floor_us: Optional[float],
    fidelity: str,
    dtype: str,
    in_place: bool,
    root: int,
    registered: bool,
    symmetric_windows: bool,
) -> dict[str, Any]: ...
def validate(
    paths: list[str],
    *,
    fidelity: str,
    floor: str,
    threads: int,
    op: Optional[str],
    system: Optional[str],
    ranks: Optional[int],
) -> dict[str, Any]: ...
