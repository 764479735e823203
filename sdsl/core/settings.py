"""Settings of a component: a strict dataclass whose fields say name, type and range.

A wrong type, a value out of range, a missing or an unknown name is refused where the object is
made. Fields have no defaults: the YAML file is the only home of a value.
"""

from typing import Annotated, TypeVar, dataclass_transform

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

Made = TypeVar("Made")
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0)]

STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)


@dataclass_transform()
def settings(cls: type[Made]) -> type[Made]:
    """The class as a dataclass that checks what it is made with."""
    return dataclass(cls, config=STRICT)  # type: ignore[return-value]
