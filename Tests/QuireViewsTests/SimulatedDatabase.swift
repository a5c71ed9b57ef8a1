// Databases on a disk that loses and tears.

import QuireDatabase
import QuireTesting

/// Opens the database with little memory and small steps, so that a short life meets every edge.
func openSimulated(
  _ disk: SimulatedDisk, seed: UInt64, renamed: [String: String] = [:]
) throws -> Database {
  var options = Database.Options(
    durability: .relaxed, cacheSize: 4 << 20, logLimit: 256 << 10, maintainsWhenIdle: false,
    renamedCollections: renamed)
  options.buildStepRowCount = 9
  return try disk.openDatabase(seed: seed, options)
}
