"""From a survey file to a designed survey; run by whoever designs it, and sees no data.

    file --queries--> Workload --auto--> Design --> Survey

`questions` reads the SQL in a workload, `forecast` expects the error of a design on samples of it
and says what a wanted precision takes, `auto` chooses a mechanism by the error, `curves` are the
numbers of a picture, and `starter` writes a file to begin with.
"""

from ldpsql.designer.file import DesignedSurvey, design, design_survey

__all__ = ["DesignedSurvey", "design", "design_survey"]
