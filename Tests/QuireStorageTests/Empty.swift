// Pages, trees, log and snapshots.

import Testing
