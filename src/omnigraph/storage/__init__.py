"""Tables at pinned versions under one manifest per branch: the only place where anything becomes visible."""

import logging

logging.getLogger("omnigraph").addHandler(logging.NullHandler())  # whoever wants to read it says where to
