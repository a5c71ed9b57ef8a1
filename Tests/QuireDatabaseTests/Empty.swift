// Rows, collections and transactions.

import Testing
