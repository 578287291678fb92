"""The paths of sources and sinks as whole paths: what relative ones and ``~`` count from is known once a version is submitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pitstop.errors import PipelineError
from pitstop.model.origin import PathOrigin, of_nobody_here
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SinkSpec, SourceSpec, Spec
from pitstop.pipeline.stages import Pipeline
from pitstop.spark.sinks import sink_kind
from pitstop.spark.sources import source_kind


def placed(pipeline: Pipeline, origin: PathOrigin | None) -> Pipeline:
    """Return the pipeline with whole paths. PipelineError names the source or sink whose path counts from what is not known.

    ``origin`` None: an older release has taken the version, so its paths stay as they are, and count from this process's folder.
    """
    if origin is None:
        return pipeline
    specs = {node.name: _placed(node, origin) for node in pipeline.nodes if isinstance(node.spec, SourceSpec | SinkSpec)}
    return pipeline.with_specs(specs)


def _placed(node: Node, origin: PathOrigin) -> Spec:
    spec, whole = node.spec, _whole(node, origin)
    if isinstance(spec, SourceSpec):
        return replace(spec, source=source_kind(node).placed(spec.source, whole))
    assert isinstance(spec, SinkSpec)
    return replace(spec, sink=sink_kind(node).placed(spec.sink, whole))


def _whole(node: Node, origin: PathOrigin) -> Callable[[str], str]:
    what = "Source" if isinstance(node.spec, SourceSpec) else "Sink"

    def whole(path: str) -> str:
        text = origin.whole(path)
        if text is None:
            raise PipelineError(f"{what} '{node.name}' ({node.location}) has the path '{path}', {of_nobody_here(path)}")
        return text

    return whole
