// Changes of a hub, taken over in one write transaction.

#if Postgres
  internal import QuireDatabase

  /// Takes changes of a hub over in a write transaction: for the thread and the life of that.
  struct HubWork {
    private let hub: PostgresHub
    private let tx: WriteTransaction
    private(set) var progress = HubProgress()

    init(_ hub: PostgresHub, _ tx: WriteTransaction) { (self.hub, self.tx) = (hub, tx) }

    // MARK: Changes

    /// Takes a change over, unless it is known. One whose version is not behind that which both have agreed upon is
    /// known, unless the row was put back in the hub.
    mutating func take(_ change: HubChange) throws {
      guard isUsable(change) else { return }
      let base = try tx[.hubBases(change.collection)].get(change.key)
      guard change.version > base?.version ?? 0 else { return try compareUsable(change, base) }
      try takeNew(change, base)
    }

    /// Takes a change over of a hub that was put back: it may be older than what was agreed upon, or have come about
    /// without it.
    ///
    /// - Parameters:
    ///   - change: what the hub has.
    ///   - own: the mark of the push whose outcome is not known, if there is one.
    mutating func compare(_ change: HubChange, own: Int64?) throws {
      guard isUsable(change) else { return }
      // What this database has pushed is no other side's, though it may have changed here since.
      if let own, change.marks.first == own { return try agree(change) }
      try compareUsable(change, try tx[.hubBases(change.collection)].get(change.key))
    }

    private mutating func compareUsable(_ change: HubChange, _ base: HubBase?) throws {
      let kinship = HubKinship(base?.marks ?? [], change.marks)
      if let theirs = try tx[.hubConflicts(change.collection)].get(change.key) {
        switch HubKinship(theirs.marks, change.marks) {
        case .same: return try find(theirs, change)
        case .later where !theirs.marks.isEmpty: return try takeNew(change, base)
        case .earlier: return try lose(theirs, change.collection, change.key, change)
        case .none where kinship == .same || kinship == .earlier:
          return try lose(theirs, change.collection, change.key, change)
        default: break
        }
      }
      switch kinship {
      case .same:
        // A decision about a version that was lost has marks of that, and the number of another one.
        if base?.version != change.version || !HubText.areSame(base?.row, change.row) { try agree(change) }
      case .later: try takeNew(change, base)
      // The hub has lost what it had: that goes up again.
      case .earlier: try agree(change)
      case .none:
        let mine = try text(change.collection, change.key)
        if HubText.areSame(mine, change.row) {
          try agree(change)
        } else {
          // What was agreed upon is none of the hub's any more: nobody may take it for the row that both had.
          try tx[.hubBases(change.collection)].remove(change.key)
          try resolve(change, try decide(change, nil, mine))
        }
      }
    }

    /// Whether anything can be kept of a row.
    private mutating func isUsable(_ change: HubChange) -> Bool {
      if change.key.utf8.count <= Limits.rowKeyByteCount { return true }
      progress.unusable += 1
      return false
    }

    /// The hub has nothing of a row any more: it is to be pushed as a new one, if it is there, and nobody has to decide
    /// about it.
    mutating func forget(_ collection: String, _ key: String) throws {
      if let theirs = try tx[.hubConflicts(collection)].get(key) { return try lose(theirs, collection, key, nil) }
      try tx[.hubBases(collection)].remove(key)
      if try tx.values(in: collection).row(key) != nil { try tx[.hubPending(collection)].set(0, for: key) }
    }

    /// The hub has lost the version about which somebody has to decide, and has an older one, or none. That is what
    /// both sides know then; the decision is still about the version that was lost, which perhaps nobody else has.
    private func lose(_ theirs: HubTheirs, _ collection: String, _ key: String, _ change: HubChange?) throws {
      var theirs = theirs
      theirs.isLost = true
      try tx[.hubConflicts(collection)].set(theirs, for: key)
      if let change {
        try tx[.hubBases(collection)].set(
          HubBase(version: change.version, row: change.row, marks: change.marks), for: key)
      } else {
        try tx[.hubBases(collection)].remove(key)
      }
    }

    /// The hub has the version about which somebody has to decide.
    private func find(_ theirs: HubTheirs, _ change: HubChange) throws {
      guard theirs.isLost == true else { return }
      var theirs = theirs
      theirs.isLost = nil
      try tx[.hubConflicts(change.collection)].set(theirs, for: change.key)
    }

    private mutating func takeNew(_ change: HubChange, _ base: HubBase?) throws {
      let mine = try text(change.collection, change.key)
      if HubText.areSame(mine, change.row) { return try agree(change) }
      if HubText.areSame(mine, base?.row), try base != nil || !isUndecided(change) { return try apply(change, base) }
      try resolve(change, try decide(change, base, mine))
    }

    /// Whether somebody has to decide about a row, and not only because what the hub had could not be stored.
    private func isUndecided(_ change: HubChange) throws -> Bool {
      guard let theirs = try tx[.hubConflicts(change.collection)].get(change.key) else { return false }
      return theirs.reason == nil
    }

    /// Stores what the hub has, if it can be stored.
    private mutating func apply(_ change: HubChange, _ base: HubBase?) throws {
      do {
        try store(try change.row.map { text in try HubRow(text: text) }, change.collection, change.key)
      } catch {
        return try leave(change, reason: "\(error)")
      }
      try agree(change)
      progress.applied += 1
    }

    // MARK: Conflicts

    /// What the app's rule says.
    private mutating func decide(_ change: HubChange, _ base: HubBase?, _ mine: String?) throws -> HubResolution? {
      do {
        return try hub.rule(
          HubConflict(
            collection: change.collection, key: change.key, base: base?.row.map { text in try HubRow(text: text) },
            mine: mine.map { text in try HubRow(text: text) },
            theirs: change.row.map { text in try HubRow(text: text) },
            origin: change.origin, version: change.version, reason: nil))
      } catch {
        try leave(change, reason: "\(error)")
        return nil
      }
    }

    /// Does what was decided about a change; nothing if nothing was.
    ///
    /// - Parameters:
    ///   - change: what the hub has, or had.
    ///   - resolution: what was decided.
    ///   - isLost: whether the hub has lost it since.
    mutating func resolve(_ change: HubChange, _ resolution: HubResolution?, isLost: Bool = false) throws {
      guard let resolution else { return }
      do {
        switch resolution {
        case .undecided: return try leave(change, reason: nil, isLost: isLost)
        case .mine: break
        case .theirs:
          try store(try change.row.map { text in try HubRow(text: text) }, change.collection, change.key)
        case .row(let row): try store(row, change.collection, change.key)
        }
      } catch {
        return try leave(change, reason: "\(error)", isLost: isLost)
      }
      if isLost { try settle(change) } else { try agree(change) }
      progress.resolved += 1
    }

    /// Leaves a row as it is until somebody decides.
    private mutating func leave(_ change: HubChange, reason: String?, isLost: Bool = false) throws {
      let theirs = HubTheirs(
        version: change.version, row: change.row, marks: change.marks, origin: change.origin, reason: reason,
        isLost: isLost ? true : nil)
      try tx[.hubConflicts(change.collection)].set(theirs, for: change.key)
      try tx[.hubPending(change.collection)].remove(change.key)
      progress.undecided += 1
    }

    // MARK: Rows

    /// Notes what the hub has as what both sides know. What is here and differs is to be pushed.
    private func agree(_ change: HubChange) throws {
      let (collection, key) = (change.collection, change.key)
      try tx[.hubBases(collection)].set(
        HubBase(version: change.version, row: change.row, marks: change.marks), for: key)
      try tx[.hubConflicts(collection)].remove(key)
      if HubText.areSame(try text(collection, key), change.row) {
        try tx[.hubPending(collection)].remove(key)
      } else {
        try tx[.hubPending(collection)].set(change.version, for: key)
      }
    }

    /// Has the outcome of a decision about a version that the hub has lost pushed, if the hub has something else. The
    /// outcome has come from that version: who still has it takes the outcome over.
    private func settle(_ lost: HubChange) throws {
      let (collection, key) = (lost.collection, lost.key)
      try tx[.hubConflicts(collection)].remove(key)
      let base = try tx[.hubBases(collection)].get(key) ?? HubBase(version: 0, row: nil)
      if HubText.areSame(try text(collection, key), base.row) {
        try tx[.hubPending(collection)].remove(key)
      } else {
        try tx[.hubBases(collection)].set(
          HubBase(version: base.version, row: base.row, marks: lost.marks), for: key)
        try tx[.hubPending(collection)].set(base.version, for: key)
      }
    }

    private func store(_ row: HubRow?, _ collection: String, _ key: String) throws {
      let values = tx.values(in: collection)
      if let row {
        try values.set(row.object, metadata: row.metadata, for: key)
      } else {
        try values.remove(key)
      }
    }

    /// The text of the row that is here; nil if there is none.
    private func text(_ collection: String, _ key: String) throws -> String? {
      try tx.values(in: collection).row(key).map { HubRow($0).text }
    }
  }
#endif
