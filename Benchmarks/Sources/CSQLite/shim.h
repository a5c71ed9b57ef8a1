// SQLite as the system installs it.
#pragma once
#include <sqlite3.h>
