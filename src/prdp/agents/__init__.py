"""Tools for programs that decide by themselves what to ask: the Model Context Protocol, over stdio.

``prdp mcp`` runs them; docs/mcp.md says how. It needs ``pip install 'prdp[mcp]'``, whose library only
``stdio.py`` loads.
"""
