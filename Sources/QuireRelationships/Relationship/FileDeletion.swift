// Deleting files, when the commit that decided about them is on the disk.

internal import QuireDatabase

/// Works off the lists of files of all relationships of a database.
///
/// What is to be deleted stands in a tree, written in the commit that removed the last edge that wanted the file. A
/// transaction looks which files no edge keeps, and claims them; they are deleted outside of it, so that nobody who
/// writes waits for the file system, but for one who makes an edge to the very file that is just being deleted; and
/// another transaction takes them off the lists. After a crash in between, the next registration does it again.
/// Deleting waits until every relationship that is stored in the database is registered and built, as any of them may
/// have an edge that keeps the file.
struct FileDeletion<Object: Sendable> {
  let database: Database
  let name: String

  init(_ database: Database, _ name: String) {
    self.database = database
    self.name = name
  }

  /// Deletes what can be deleted now. What fails stays on the lists.
  func run() {
    do {
      let relationships = try database.extensions().filter { $0.kind == RelationshipSettings.kind }
      guard relationships.allSatisfy({ $0.isRegistered && $0.state == .ready }) else { return }
      let hasFiles = try database.read { tx throws in
        try tx.access(toExtensionNamed: name, Relationship<Object>.self).files.count > 0
      }
      // The lists of others may have waited for this one.
      guard hasFiles || relationships.count > 1 else { return }
      // A commit of weaker durability is acknowledged before it is on the disk, and might yet be undone by a crash.
      try database.flush()
      var positions: [ByteString: [UInt8]] = [:]
      while try step(&positions) {}
    } catch {
      // The database was closed, is read-only or cannot write any more: the lists are there for the next opening.
    }
  }

  /// Deletes some files of each list. Returns whether there may be more.
  private func step(_ positions: inout [ByteString: [UInt8]]) throws -> Bool {
    var due: [DueFile] = []
    defer { for file in due { FileClaims.shared.end(file.claim, database) } }
    let hasMore = try write { writers in
      var hasMore = false
      for writer in writers {
        let place = ByteString(writer.store.name)
        guard let last = try writer.files.claim(after: positions[place], writers, database, &due) else { continue }
        positions[place] = last
        hasMore = true
      }
      return hasMore
    }
    if due.isEmpty { return hasMore }
    DueFile.remove(due)
    let isAllSettled = try write { writers in
      for file in due where file.claim.isSettled {
        for writer in writers { try writer.files.remove(file.claim.path) }
      }
      return !due.contains { $0.claim.isDueAgain }
    }
    // Once more from the beginning: what has become of those is known by now.
    if !isAllSettled { positions = [:] }
    return true
  }

  /// Runs `body` with all relationships, if they are built; else returns false.
  private func write(_ body: ([RelationshipWriter]) throws -> Bool) throws -> Bool {
    try database.write { tx throws in
      let own = try tx.access(toExtensionNamed: name, Relationship<Object>.self)
      let writers = try own.store.writers(as: RelationshipWriter.self)
      guard writers.allSatisfy({ $0.building == nil }) else { return false }
      return try body(writers)
    }
  }
}
