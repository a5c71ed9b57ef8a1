#pragma once
#include <sqlite3.h>

/// Has all statements refuse views. SQLite's own function takes any arguments, which Swift does not call.
static inline int quire_sqlite3_refuse_views(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
}
