// What comes down from a hub.

#if Postgres
  internal import QuireDatabase

  extension PostgresHub {
    /// Takes over the changes of the hub behind the place up to which they have come down. Returns whether there were
    /// some.
    func pull(_ progress: inout HubProgress) throws -> Bool {
      var hasMoved = false
      var place = try database.read { tx in try state(tx).inbound }
      var pace = HubPace()
      while true {
        let found = try server.changes(of: collections, after: place, limit: pace.limit)
        pace.note(found)
        guard found.end != place else { return hasMoved }
        progress += try database.write { tx in
          var work = HubWork(self, tx)
          for change in found.changes { try work.take(change) }
          var state = try self.state(tx)
          state.inbound = found.end
          try tx[.hubStates].set(state, for: name)
          return work.progress
        }
        progress.unusable += found.unusableCount
        (place, hasMoved) = (found.end, true)
      }
    }

    /// Compares all rows with those of a hub that was put back to an older state, or of which nothing is known here, or
    /// nothing of some collection: what it lacks is pushed, and what is not here comes down.
    ///
    /// - Complexity: O(rows of the hub), in memory, too: their keys.
    func compareAll(_ progress: inout HubProgress) throws {
      var seen: Set<RowKey> = []
      var place = HubPlace()
      var pace = HubPace()
      let own = try database.read { tx in try tx[.hubIntents].get(name)?.token }
      while true {
        let found = try server.changes(of: collections, after: place, limit: pace.limit)
        pace.note(found)
        guard found.end != place else { break }
        progress += try database.write { tx in
          var work = HubWork(self, tx)
          for change in found.changes { try work.compare(change, own: own) }
          return work.progress
        }
        progress.unusable += found.unusableCount
        for change in found.changes { seen.insert(RowKey(change.collection, change.key)) }
        place = found.end
      }
      let pushed = try server.member(origin)?.number ?? 0
      progress += try database.write { tx in
        var work = HubWork(self, tx)
        for collection in collections {
          let known = Array(tx[.hubBases(collection)].keys) + Array(tx[.hubConflicts(collection)].keys)
          for key in known where seen.insert(RowKey(collection, key)).inserted { try work.forget(collection, key) }
        }
        var state = try self.state(tx)
        (state.inbound, state.pushed, state.collections) = (place, pushed, collections)
        try tx[.hubStates].set(state, for: name)
        try tx[.hubIntents].remove(name)
        return work.progress
      }
      progress.wasCompared = true
    }
  }

  /// How many rows are asked for at a time: fewer while they are long, as a hub tells of whole rows.
  struct HubPace {
    private(set) var limit = 50
    private static let mostBytes = 4 << 20
    private static let fewBytes = 1 << 20

    /// Learns from what was told.
    mutating func note(_ changes: HubChanges) {
      let count = changes.changes.reduce(0) { $0 + ($1.row?.utf8.count ?? 0) }
      if count > Self.mostBytes { limit = max(1, limit / 4) }
      if count < Self.fewBytes { limit = min(2 * limit, PostgresHub.batchCount) }
    }
  }

  extension HubProgress {
    static func += (left: inout Self, right: Self) {
      left.applied += right.applied
      left.pushed += right.pushed
      left.refused += right.refused
      left.resolved += right.resolved
      left.undecided += right.undecided
      left.unusable += right.unusable
      left.wasCompared = left.wasCompared || right.wasCompared
    }
  }
#endif
