"""MariaDB through SQLAlchemy: its catalog, sessions and dialect."""
