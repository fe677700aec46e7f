"""The collector of the local model: what a bank's app or a browser sends its reports to.

``prdp collect`` runs it; docs/collector.md says how. It needs ``pip install 'prdp[collector]'``; sending
reports from Python (``sending.send``) needs the standard library only.
"""
