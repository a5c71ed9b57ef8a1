// The listings that set options: those of “Caching”, “Changing types and names” and `ObjectCacheOptions`.

import Quire

enum OptionsListings {
  static func cache() -> Database.Options {
    var options = Database.Options()
    options.objectCache = ObjectCacheOptions(countLimit: 20_000, byteLimit: 32 << 20)
    return options
  }

  static func unknownFields() -> Database.Options {
    var options = Database.Options()
    options.unknownFields = .refuse
    return options
  }

  static func renaming(_ path: String) throws -> Database {
    var options = Database.Options()
    options.renamedCollections = ["tracks": "songs", "titles": "songs"]
    let db = try Database(at: path, options: options)
    return db
  }
}
