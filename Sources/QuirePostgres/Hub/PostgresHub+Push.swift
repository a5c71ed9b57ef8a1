// What goes up to a hub.

#if Postgres
  internal import QuireDatabase

  extension PostgresHub {
    // MARK: Pushes whose outcome is not known

    /// Finds out what has become of the last push, and whether the hub is the one that it was.
    func settle(_ progress: inout HubProgress) throws {
      let (known, intent) = try database.read { tx in (try tx[.hubStates].get(name), try tx[.hubIntents].get(name)) }
      let state = known ?? HubState()
      let member = try server.member(origin)
      let lineage = try lineage
      if let member, member.lineage != lineage {
        throw HubError(
          .otherDatabase,
          "The origin “\(origin)” is that of another database, \(member.lineage). Give this one another name.")
      }
      let number = member?.number ?? 0
      let isKnown = try server.knows(state.inbound)
      let hasAll = try known == nil || noteCollections(state.collections)
      if !isKnown || !hasAll || number < state.pushed {
        try compareAll(&progress)
      } else if let intent {
        try send(intent, &progress)
      } else if number > state.pushed {
        // Who knows nothing of the hub joins anew. Should another one speak under its name, the next push tells.
        guard known == nil else { throw anotherMemberError() }
        try compareAll(&progress)
      }
    }

    /// Notes the collections, and returns true, if everything has come down of each of them. Otherwise the hub has rows
    /// of the others that do not come again: all are to be compared.
    private func noteCollections(_ known: [String]?) throws -> Bool {
      guard let known, collections.allSatisfy({ name in known.contains { $0.hasBytes(of: name) } }) else {
        return false
      }
      if known.count > collections.count {
        try database.write { tx in
          var state = try self.state(tx)
          state.collections = collections
          try tx[.hubStates].set(state, for: name)
        }
      }
      return true
    }

    private func anotherMemberError() -> HubError {
      HubError(
        .anotherMember,
        """
        The hub has heard of pushes of “\(origin)” that this file knows nothing of: another process, or a newer copy \
        of the file, speaks under that name. Stop the other one, or give this one another origin.
        """)
    }

    // MARK: Pushing

    /// Pushes the next rows. Returns whether there may be more.
    func pushNext(_ progress: inout HubProgress) throws -> Bool {
      let outbound = try database.read { tx in try state(tx).outbound }
      let found = try nextChanges(HubOutbound(outbound))
      let lineage = try lineage
      let (intent, isOver) = try database.write { tx in
        let collector = HubCollector(self, tx)
        let intent = try collector.collect(found, lineage)
        return (intent, try intent == nil && found == nil && !collector.hasPending())
      }
      guard let intent else { return !isOver }
      try send(intent, &progress)
      return true
    }

    /// Pushes what was written down, and notes the outcome.
    private func send(_ intent: HubIntent, _ progress: inout HubProgress) throws {
      let push = HubPush(
        origin: origin, lineage: intent.lineage, number: intent.number, token: intent.token, entries: intent.entries)
      // What the disk may lose must not be seen elsewhere; nor must what a process that was killed has written down.
      try database.flush()
      let outcome = try server.push(push)
      guard outcome.count == intent.entries.count else {
        throw HubError(.damagedHub, "The hub tells of another push under the number \(intent.number).")
      }
      let accepted = outcome.count { $0 == 1 }
      try database.write { tx in
        for (entry, flag) in zip(intent.entries, outcome) {
          if flag == 1 {
            let base = HubBase(version: entry.base + 1, row: entry.row, marks: entry.marks(intent.token))
            try tx[.hubBases(entry.collection)].set(base, for: entry.key)
            try tx[.hubPending(entry.collection)].remove(entry.key)
          } else {
            try tx[.hubPending(entry.collection)].set(entry.base, for: entry.key)
          }
        }
        var state = try self.state(tx)
        (state.pushed, state.outbound) = (intent.number, intent.position)
        try tx[.hubStates].set(state, for: name)
        try tx[.hubIntents].remove(name)
      }
      progress.pushed += accepted
      progress.refused += outcome.count - accepted
    }

    // MARK: The feed

    /// What the feed tells next; nil if nothing.
    private func nextChanges(_ outbound: HubOutbound) throws(DatabaseError) -> HubOutbound.Found? {
      do throws(DatabaseError) {
        switch outbound {
        case .beginning(let position):
          let batch = try database.bootstrap(of: feed, after: position, limit: .rows(Self.batchCount))
          let next = batch.position
          return HubOutbound.Found(
            changes: batch.rows, next: next.isComplete ? .following(next.cursor) : .beginning(next),
            endsBootstrap: next.isComplete)
        case .following(let cursor):
          guard let batch = try database.nextChanges(of: feed, after: cursor, limit: .rows(Self.batchCount)) else {
            return nil
          }
          return HubOutbound.Found(changes: batch.changes, next: .following(batch.cursor), endsBootstrap: false)
        }
      } catch {
        // Every row is looked at again. What the hub has already is not pushed.
        guard error.code == .cursorExpired || error.code == .cursorForeign, outbound != .beginning(nil) else {
          throw error
        }
        return HubOutbound.Found(changes: [], next: .beginning(nil), endsBootstrap: false)
      }
    }
  }

  /// Where a member follows its feed from.
  enum HubOutbound: Equatable {
    /// It goes through all rows.
    case beginning(BootstrapPosition?)
    /// It follows the changes.
    case following(FeedCursor)

    /// What the feed tells.
    struct Found {
      var changes: [FeedChange]
      var next: HubOutbound
      /// Whether all rows have been told of.
      var endsBootstrap: Bool
    }

    /// Reads the text of a place; begins with all rows if it is none.
    init(_ text: String?) {
      let rest = String(text?.dropFirst() ?? "")
      if text?.first == "f", let cursor = FeedCursor(rest) {
        self = .following(cursor)
      } else {
        self = .beginning(text?.first == "b" ? BootstrapPosition(rest) : nil)
      }
    }

    /// The place as a text.
    var text: String {
      switch self {
      case .beginning(let position): "b" + (position?.description ?? "")
      case .following(let cursor): "f" + cursor.description
      }
    }
  }
#endif
