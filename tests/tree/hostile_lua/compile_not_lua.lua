-- Tries to be something else.
#!/usr/bin/env python3
import os
