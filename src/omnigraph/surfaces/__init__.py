"""Where people and programs meet OmniGraph: the command line today."""
