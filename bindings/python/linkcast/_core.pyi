from typing import Any, Optional

__version__: str

class InputError(ValueError):
    diagnostics: list[dict[str, Any]]

class InternalError(RuntimeError): ...

class Fabric:
    @staticmethod
    def load(name_or_path: str, nodes: int, params: dict[str, str], profile: Optional[str]) -> Fabric: ...
    @property
    def name(self) -> str: ...
    @property
    def gpus(self) -> list[str]: ...
    @property
    def bisection_GBps(self) -> float: ...
    def slice(self, ranks: list[int]) -> Fabric: ...

class Cluster:
    def __init__(self, machine: Fabric) -> None: ...
    @staticmethod
    def load(
        name_or_path: str,
        nodes: int,
        params: dict[str, str],
        network: Optional[str],
        routing: Optional[str],
        profile: Optional[str],
    ) -> Cluster: ...
    @property
    def name(self) -> str: ...
    @property
    def nodes(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    @property
    def gpus_per_node(self) -> int: ...
    @property
    def assumptions(self) -> list[str]: ...
    def job(self, nodes: list[int], gpus: list[int]) -> Cluster: ...

def catalog_names() -> list[str]: ...
def op_names() -> list[str]: ...
def parse_sizes(text: str) -> list[int]: ...
def collective(
    cluster: Fabric | Cluster,
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
    profile: Optional[str],
) -> dict[str, Any]: ...
def replay(
    files: list[str],
    cluster: Optional[Cluster],
    *,
    set: list[str],
    format: str,
    beside: list[str],
    world: int,
    nccl: str,
    env: dict[str, str],
    compute_scale: float,
    slow_ranks: dict[int, float],
    jitter: float,
    seed: int,
    share: bool,
    keep_communication: bool,
) -> dict[str, Any]: ...
