// Rows that nobody has decided about.

#if Postgres
  internal import QuireDatabase

  extension PostgresHub {
    /// The rows that are left undecided, by collection and key. They stay as they are here, and are not pushed.
    ///
    /// - Complexity: O(undecided rows).
    /// - Throws: what reading throws.
    public func conflicts() throws -> [HubConflict] {
      try database.read { tx in
        var conflicts: [HubConflict] = []
        for collection in collections {
          for theirs in tx[.hubConflicts(collection)].rows {
            let base = try tx[.hubBases(collection)].get(theirs.key)
            conflicts.append(
              HubConflict(
                collection: collection, key: theirs.key, base: base?.row.flatMap { try? HubRow(text: $0) },
                mine: try tx.values(in: collection).row(theirs.key).map { HubRow($0) },
                // One that cannot be read has a reason, and holds up none of the others.
                theirs: theirs.object.row.flatMap { try? HubRow(text: $0) }, origin: theirs.object.origin,
                version: theirs.object.version, reason: theirs.object.reason))
          }
        }
        return conflicts
      }
    }

    /// Decides about a row that was left undecided. The next call of ``synchronize()`` pushes what there is to push.
    ///
    /// - Parameters:
    ///   - conflict: the row, as ``conflicts()`` has told of it.
    ///   - resolution: what becomes of it.
    /// - Returns: whether it was still undecided about the same version of the hub; else nothing was done.
    /// - Throws: what storing throws.
    @discardableResult
    public func resolve(_ conflict: HubConflict, as resolution: HubResolution) throws -> Bool {
      try database.write { tx in
        let collection = conflict.collection
        guard let theirs = try tx[.hubConflicts(collection)].get(conflict.key), theirs.version == conflict.version,
          // A hub that was put back gives a number again.
          theirs.row.flatMap({ try? HubRow(text: $0) }) == conflict.theirs
        else { return false }
        var work = HubWork(self, tx)
        let change = HubChange(
          place: HubPlace(), collection: collection, key: conflict.key, version: theirs.version, origin: theirs.origin,
          row: theirs.row, marks: theirs.marks)
        try work.resolve(change, resolution, isLost: theirs.isLost == true)
        return true
      }
    }
  }
#endif
