"""Run by the collector; sees counts of reports. From questions to answers with error bars."""
