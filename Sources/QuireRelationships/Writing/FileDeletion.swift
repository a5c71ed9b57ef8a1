// Deleting files, when the commit that decided about them is on the disk.

internal import QuireDatabase

/// Works off the lists of files of all relationships of a database.
///
/// What is to be deleted stands in a tree, written in the commit that removed the last edge that wanted the file. It is
/// deleted in a transaction of its own, so that no edge to it can be made meanwhile, and taken off the list in the same
/// one: after a crash in between, the next registration does it again. Deleting waits until every relationship that is
/// stored in the database is registered and built, as any of them may have an edge that keeps the file.
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
      var positions: [ByteText: [UInt8]] = [:]
      while try step(&positions) {}
    } catch {
      // The database was closed, is read-only or cannot write any more: the lists are there for the next opening.
    }
  }

  /// Deletes some files of each list. Returns whether there may be more.
  private func step(_ positions: inout [ByteText: [UInt8]]) throws -> Bool {
    try database.write { tx throws in
      let own = try tx.access(toExtensionNamed: name, Relationship<Object>.self)
      let writers = try own.store.writers(as: RelationshipWriter.self)
      guard writers.allSatisfy({ $0.building == nil }) else { return false }
      var hasMore = false
      for writer in writers {
        let place = ByteText(writer.store.name)
        guard let last = try writer.deleteFiles(after: positions[place], writers) else { continue }
        positions[place] = last
        hasMore = true
      }
      return hasMore
    }
  }
}

extension RelationshipWriter {
  /// Deletes the next files of the list that no edge of `writers` keeps, and takes all that are settled off the list;
  /// those that were deleted off the lists of all. Returns the last one's path; nil if there was none.
  func deleteFiles(after last: [UInt8]?, _ writers: [RelationshipWriter]) throws -> [UInt8]? {
    let cursor = try files.cursor()
    var paths: [[UInt8]] = []
    var isOnEntry = try last.map { try cursor.seek($0 + [0]) } ?? cursor.seekFirst()
    while isOnEntry, paths.count < EdgeLimits.fileBatchCount, let path = cursor.key {
      paths.append(path)
      isOnEntry = try cursor.next()
    }
    for path in paths {
      if try writers.contains(where: { try $0.keeps(path) }) {
        try files.remove(path)
        continue
      }
      do { try settings.removeFile(String(decoding: path, as: UTF8.self)) } catch { continue }
      for writer in writers { try writer.files.remove(path) }
    }
    return paths.last
  }

  /// Whether an edge leads to a file that will decide about it later.
  private func keeps(_ path: [UInt8]) throws -> Bool {
    let prefix = StoredEdge.prefix(.file(path))
    let cursor = try trees.byDestination.cursor()
    var isOnEntry = try cursor.seek(prefix)
    while isOnEntry, let entry = try cursor.entry, entry.key.starts(with: prefix) {
      if try !trees.edge(.byDestination, entry).rules.isDisjoint(with: .keeping) { return true }
      isOnEntry = try cursor.next()
    }
    return false
  }
}
