// Crashes on the simulated disk.

import Testing
