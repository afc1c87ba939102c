"""Public. Sees parameters. The mechanisms by name: adding one is adding a line here."""

from __future__ import annotations

from collections.abc import Mapping

from ldpsql.errors import SurveyError
from ldpsql.mechanisms.ahead.mechanism import Ahead
from ldpsql.mechanisms.ahio import Ahio
from ldpsql.mechanisms.base import Mechanism
from ldpsql.mechanisms.ehio import Ehio
from ldpsql.mechanisms.flat import Flat
from ldpsql.mechanisms.fourier.mechanism import Fourier
from ldpsql.mechanisms.haar import HaarHrr
from ldpsql.mechanisms.hgrr import Hgrr
from ldpsql.mechanisms.hh import Hh
from ldpsql.mechanisms.hi import Hi
from ldpsql.mechanisms.hio import Hio
from ldpsql.mechanisms.lgrr import Lgrr, LgrrFd, LgrrRepaired
from ldpsql.mechanisms.marginals.arr import ArrSs
from ldpsql.mechanisms.marginals.mechanisms import Marginals
from ldpsql.mechanisms.marginals.walsh import Ft
from ldpsql.mechanisms.staircase.mechanism import Staircase
from ldpsql.mechanisms.truthful.mechanism import Truthful
from ldpsql.mechanisms.uldp.mechanisms import Cprr, Jurr, JurrG, Tdrr
from ldpsql.mechanisms.uldp.urap import Urap

MECHANISMS: Mapping[str, Mechanism] = {
    made.name: made
    for made in (
        Fourier(),
        Staircase(),
        Hgrr(),
        Hio(),
        Ahio(),
        Ehio(),
        Hi(),
        Hh(),
        HaarHrr(),
        Ahead(),
        Lgrr(),
        LgrrFd(),
        LgrrRepaired(),
        Flat("grr"),
        Flat("olh"),
        Flat("oue"),
        Cprr("urr", most=1),
        Urap(),
        Cprr("cprr"),
        Jurr(),
        JurrG(),
        Tdrr(),
        Cprr("jd-grr", "local"),
        Truthful(),
        Marginals("srr-ss", "grr"),
        Marginals("psrr-ss", "padded"),
        ArrSs(),
        Marginals("srr-ms", "grr", visible=True),
        Marginals("sue-ms", "sue", visible=True),
        Marginals("oue-ms", "oue", visible=True),
        Marginals("solh", "solh"),
        Ft(),
    )
}


def mechanism(name: str) -> Mechanism:
    """A mechanism by its name; SurveyError lists those there are."""
    try:
        return MECHANISMS[name]
    except KeyError:
        raise SurveyError(
            f"unknown mechanism {name!r}; there are {', '.join(MECHANISMS)}"
        ) from None
