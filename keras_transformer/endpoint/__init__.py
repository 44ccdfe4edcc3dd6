"""A local endpoint with a page: models behind TF Serving's and LibreTranslate's routes.

For development and demonstrations; production is TF Serving, for which clients stay as they are.
"""
