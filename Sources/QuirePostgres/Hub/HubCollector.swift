// Which rows are to be pushed.

#if Postgres
  internal import QuireDatabase

  /// Finds the rows that a push has, in the write transaction that writes it down.
  struct HubCollector {
    private let hub: PostgresHub
    private let tx: WriteTransaction

    init(_ hub: PostgresHub, _ tx: WriteTransaction) { (self.hub, self.tx) = (hub, tx) }

    /// Whether there is a row that has to be pushed whatever the feed tells.
    func hasPending() throws -> Bool { hub.collections.contains { tx[.hubPending($0)].count > 0 } }

    /// Writes the next push down. Without one, notes how far the feed was followed; nil then.
    func collect(_ found: HubOutbound.Found?, _ lineage: String) throws -> HubIntent? {
      var keys: [RowKey] = []
      for change in found?.changes ?? [] {
        if change.isOfARow { keys.append(RowKey(change.collection, change.key)) } else { try mark(change) }
      }
      if found?.endsBootstrap == true { try markRemovedCollections() }
      var state = try hub.state(tx)
      let position = found?.next.text ?? state.outbound ?? HubOutbound.beginning(nil).text
      keys += pendingKeys()
      let entries = try entries(keys)
      if entries.isEmpty {
        if position != state.outbound {
          state.outbound = position
          try tx[.hubStates].set(state, for: hub.name)
        }
        return nil
      }
      let intent = HubIntent(
        number: state.pushed + 1, token: Int64.random(in: 1 ... .max), lineage: lineage, entries: entries,
        position: position)
      try tx[.hubIntents].set(intent, for: hub.name)
      return intent
    }

    // MARK: Changes of whole collections

    private func mark(_ change: FeedChange) throws {
      switch change.kind {
      case .clearedAll: for collection in hub.collections { try markRemoved(collection) }
      case .renamed(let from):
        // Nobody else has said that rows under the old name are to go.
        if hub.shares(from) { try forget(from) }
        for key in Array(tx.values(in: change.collection).map(\.key)) {
          try tx[.hubPending(change.collection)].set(0, for: key)
        }
      default: try markRemoved(change.collection)
      }
    }

    /// Marks the rows that the hub has, and that are no longer here; not those of collections that are not here at all,
    /// and may have another name.
    private func markRemovedCollections() throws {
      let there = tx.collections
      for collection in hub.collections {
        try there.contains { $0.hasBytes(of: collection) } ? markRemoved(collection) : forget(collection)
      }
    }

    /// Forgets what the hub has of a collection, all of which comes down again.
    private func forget(_ collection: String) throws {
      if tx[.hubBases(collection)].isEmpty { return }
      try tx[.hubBases(collection)].removeAll()
      try tx[.hubConflicts(collection)].removeAll()
      try tx[.hubPending(collection)].removeAll()
      var state = try hub.state(tx)
      state.collections = (state.collections ?? hub.collections).filter { !$0.hasBytes(of: collection) }
      try tx[.hubStates].set(state, for: hub.name)
    }

    /// Marks the rows that the hub has of a collection, and that are no longer here.
    private func markRemoved(_ collection: String) throws {
      let values = tx.values(in: collection)
      var removed: [String] = []
      for base in tx[.hubBases(collection)].rows where base.object.row != nil {
        if try values.row(base.key) == nil { removed.append(base.key) }
      }
      for key in removed { try tx[.hubPending(collection)].set(0, for: key) }
    }

    // MARK: Rows

    private func pendingKeys() -> [RowKey] {
      var keys: [RowKey] = []
      for collection in hub.collections {
        keys += tx[.hubPending(collection)].keys.prefix(PostgresHub.batchCount).map { RowKey(collection, $0) }
      }
      return keys
    }

    /// The entries of the rows that differ from what the hub last had. Marks of those that do not differ go.
    private func entries(_ keys: [RowKey]) throws -> [HubIntent.Entry] {
      var entries: [HubIntent.Entry] = []
      var seen: Set<RowKey> = []
      var byteCount = 0
      for key in keys where seen.insert(key).inserted && hub.shares(key.collection) {
        if try tx[.hubConflicts(key.collection)].contains(key.key) {
          // Who decides about it sees to it that it is pushed.
          try tx[.hubPending(key.collection)].remove(key.key)
          continue
        }
        let base = try tx[.hubBases(key.collection)].get(key.key)
        let row = try tx.values(in: key.collection).row(key.key).map { HubRow($0) }
        if let row, row.isEncrypted {
          try leave(key, base)
          continue
        }
        let text = row?.text
        if HubText.areSame(text, base?.row) {
          try tx[.hubPending(key.collection)].remove(key.key)
        } else if byteCount >= PostgresHub.batchByteCount {
          // The feed does not tell of it again.
          try tx[.hubPending(key.collection)].set(base?.version ?? 0, for: key.key)
        } else {
          byteCount += text?.utf8.count ?? 0
          entries.append(
            HubIntent.Entry(
              collection: key.collection, key: key.key, base: base?.version ?? 0, row: text,
              marks: base?.marks ?? []))
        }
      }
      return entries
    }

    /// A row that nobody else could read is not pushed, and is told of.
    private func leave(_ key: RowKey, _ base: HubBase?) throws {
      let reason = "The row is encrypted, and stays here. Share collections that are not."
      let theirs = HubTheirs(
        version: base?.version ?? 0, row: base?.row, marks: base?.marks ?? [], origin: hub.origin, reason: reason)
      try tx[.hubConflicts(key.collection)].set(theirs, for: key.key)
      try tx[.hubPending(key.collection)].remove(key.key)
    }
  }

  extension FeedChange {
    /// Whether it tells of one row.
    fileprivate var isOfARow: Bool {
      switch kind {
      case .inserted, .changed, .removed: true
      case .cleared, .clearedAll, .renamed: false
      }
    }
  }
#endif
