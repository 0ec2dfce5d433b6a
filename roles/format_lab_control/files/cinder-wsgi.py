# The module that has cinder's WSGI application is another since 2025.1.
try:
    from cinder.wsgi.api import application
except ImportError:
    from cinder.wsgi import wsgi

    application = wsgi.initialize_application()
