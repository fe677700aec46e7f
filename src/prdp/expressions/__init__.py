"""The small language of policies and filters: SQL scalar expressions with strict meaning.

``parse`` reads text, ``check`` fits it to a table's columns, ``evaluate`` is what it means for one
record, ``bound`` is what it can be over all records. None needs more
than the standard library.
"""
