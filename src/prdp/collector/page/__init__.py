"""The one web page of a study: readable without JavaScript, with no request to anywhere else."""
