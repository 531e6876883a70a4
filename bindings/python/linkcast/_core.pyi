from typing import Any, Callable, Optional, Sequence

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

class Study:
    def __init__(
        self, text: str, where: str, set: list[str], grid: Optional[str], profile: Optional[str], alone: bool
    ) -> None: ...
    @property
    def title(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def columns(self) -> list[tuple[str, bool]]: ...
    @property
    def axes(self) -> list[str]: ...
    @property
    def goals(self) -> list[str]: ...
    def name(self, variant: int) -> str: ...
    def keys(self, variants: list[int]) -> list[str]: ...
    def chosen(self, limit: int, workers: int) -> list[int]: ...
    def by_machine(self, variants: list[int]) -> list[int]: ...
    def rows(self, variants: list[int]) -> list[list[str]]: ...
    def stop(self) -> None: ...
    def json(self, rows: Sequence[Sequence[str]], command: str, complete: bool) -> str: ...
    def text(self, rows: Sequence[Sequence[str]], most: int) -> str: ...

class ResultFile:
    def __init__(self, path: str, study: Study) -> None: ...
    def find(self, key: str) -> Optional[list[str]]: ...
    def append(self, row: Sequence[str]) -> None: ...
    def arrange(self, keys: list[str]) -> None: ...
    def close(self) -> None: ...

def diagnose(
    files: list[str],
    *,
    figures: list[tuple[str, str, float]],
    topology: str,
    params: dict[str, str],
    profile: Optional[str],
    gpu: str,
    nodes: int,
    gpus: int,
    nics: int,
    nic_gbps: float,
    network: str,
    nccl: str,
    env: dict[str, str],
    threads: int,
) -> tuple[str, str]: ...
def fit(
    files: list[str],
    *,
    op: Optional[str],
    system: Optional[str],
    ranks: Optional[int],
    start: Optional[str],
    only: list[str],
    shared: bool,
    hold_back: float,
    seed: int,
    name: str,
) -> tuple[str, str, str]: ...
def plan(
    text: str,
    where: str,
    set: list[str],
    profile: Optional[str],
    threads: int,
    progress: Optional[Callable[[int, int], None]],
) -> tuple[str, str]: ...
def resilience(
    text: str,
    where: str,
    set: list[str],
    profile: Optional[str],
    kinds: list[str],
    pairs: Optional[int],
    threads: int,
    progress: Optional[Callable[[int, int], None]],
) -> tuple[str, str]: ...
def cost(cluster: Cluster, prices: Optional[str], tokens_per_second: float) -> tuple[str, str, str]: ...
def report_html(json: str, command: str, files: list[str]) -> str: ...
