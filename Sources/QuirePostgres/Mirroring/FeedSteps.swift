// What goes over next: rows by ranges, or changes.

#if Postgres
  internal import QuireDatabase
  internal import QuireStorage

  /// What one transaction stores.
  struct FeedStep {
    var changes: [SinkChange]
    /// The commit that the rows are of.
    var csn: UInt64
    /// Whether the rows are known to be new.
    var copies = false
    var next: SinkState
    /// How many rows and changes there are.
    var rowCount: Int
    /// Whether there were as many as were asked for.
    var isFull = false
  }

  /// Reads the database from where a sink is.
  ///
  /// Invariant: `rowLimit` and `byteLimit` are at least 1, and no larger than the options and `firstByteLimit` say.
  struct FeedSteps {
    private let mirror: PostgresMirror
    private let sink: Sink
    private let encoder: RowEncoder
    private var rowLimit: Int
    /// As much as is read of a batch, as it is stored, besides one row. Lower where more is made of it than is held.
    private var byteLimit = FeedSteps.firstByteLimit
    /// Why all rows go over anew, if they are to.
    private var reasonToBegin: String?
    private var released: FeedCursor?
    private var releaseTime = ContinuousClock.now

    private static let firstByteLimit = 4 << 20
    private static let firstRowLimit = 1000
    private static let shortestTime = Duration.milliseconds(200)
    private static let longestTime = Duration.seconds(1)
    private static let releaseInterval = Duration.seconds(5)

    /// - Throws: `foreignMirror`, and what making columns throws.
    init(_ mirror: PostgresMirror, _ sink: Sink) throws {
      self.mirror = mirror
      self.sink = sink
      encoder = RowEncoder(tables: mirror.tables, keepsBytes: mirror.options.keepsBytes)
      rowLimit = min(Self.firstRowLimit, mirror.options.largestBatch)
      reasonToBegin = try Self.reasonToBegin(mirror, sink.state)
      if reasonToBegin == nil, !sink.state.isNew { try sink.changeTables() }
    }

    private var feed: ChangeFeed { mirror.feed }
    private var limit: FeedLimit { FeedLimit(rows: rowLimit, bytes: byteLimit) }

    // MARK: Whether the cursor is one of this feed

    /// Why all rows are to go over, if they are.
    ///
    /// - Throws: `foreignMirror`.
    static func reasonToBegin(_ mirror: PostgresMirror, _ state: SinkState) throws -> String? {
      guard let cursor = state.progress?.cursor ?? state.cursor else { return "The mirror has no rows." }
      do throws(DatabaseError) {
        _ = try mirror.database.status(of: mirror.feed, at: cursor)
        return nil
      } catch {
        if error.code == .cursorExpired { return expired }
        guard error.code == .cursorForeign else { throw error }
        if mirror.options.beginsAnew { return "The cursor is of another database, or of another life of the feed." }
        throw foreign(error)
      }
    }

    private static let expired = "What follows the cursor has expired."

    static func foreign(_ error: DatabaseError) -> PostgresError {
      PostgresError(
        .foreignMirror,
        """
        The tables of the feed in PostgreSQL are of another database, of a copy that has gone another way, or of \
        another life of the feed; they were left as they are. To take their place, begin anew. (\(error.message))
        """)
    }

    /// Has all rows go over.
    mutating func beginAnew(_ reason: String) { reasonToBegin = reason }

    // MARK: Steps

    /// The next step; nil if there is none, and the tables are consistent.
    mutating func next() throws -> FeedStep? {
      if let reasonToBegin { mirror.tell(.begins(reasonToBegin)) }
      while true {
        do { return try read() } catch let overflow as BatchOverflow {
          // What one commit has changed is divided by bytes alone.
          (rowLimit, byteLimit) = (overflow.rowCount, max(1, byteLimit / 2))
        }
      }
    }

    /// - Throws: `BatchOverflow` if fewer rows are to be read.
    private mutating func read() throws -> FeedStep? {
      if reasonToBegin != nil { return try firstRows() }
      let state = sink.state
      if let progress = state.progress { return try rows(behind: progress) }
      if let cursor = state.cursor, sink.tables.values.contains(where: \.needsFill) {
        return try rows(behind: BootstrapPosition(cursor, isComplete: false, []))
      }
      return try changes()
    }

    private func firstRows() throws -> FeedStep {
      let batch = try mirror.database.bootstrap(of: feed, limit: limit)
      var next = SinkState()
      next.consistentFrom = batch.csn.rawValue
      return try step(batch, &next, [.clearAll(isNew: true)], try encoder.rows(of: batch) { _ in true })
    }

    private mutating func rows(behind position: BootstrapPosition) throws -> FeedStep? {
      let isFirst = sink.state.state == .bootstrapping
      let batch: BootstrapBatch
      do throws(DatabaseError) {
        batch = try mirror.database.bootstrap(of: feed, after: position, limit: limit)
      } catch {
        if error.code == .cursorExpired {
          beginAnew(Self.expired)
          return try next()
        }
        guard error.code == .cursorForeign else { throw error }
        // A collection was renamed since: what went over before has another name.
        guard try Self.reasonToBegin(mirror, sink.state) == nil else { throw Self.foreign(error) }
        if isFirst {
          beginAnew("A collection was renamed.")
          return try next()
        }
        var next = sink.state
        (next.progress, next.state) = (nil, .catchingUp)
        return FeedStep(changes: [], csn: next.csn, next: next, rowCount: 0)
      }
      var next = sink.state
      next.consistentFrom = max(next.consistentFrom, batch.csn.rawValue)
      let tables = sink.tables
      let changes = try encoder.rows(of: batch) { isFirst || tables[Array($0.utf8)]?.needsFill == true }
      return try step(batch, &next, [], changes + (batch.position.isComplete && !isFirst ? [.didFill] : []))
    }

    private func step(
      _ batch: BootstrapBatch, _ next: inout SinkState, _ first: [SinkChange], _ changes: [SinkChange]
    ) throws -> FeedStep {
      let isFirst = next.state == .bootstrapping
      if batch.position.isComplete {
        (next.state, next.cursor, next.progress) = (.catchingUp, batch.position.cursor, nil)
      } else {
        next.progress = batch.position
        if !isFirst { next.state = .catchingUp }
      }
      return FeedStep(
        changes: first + (try noted(changes)), csn: batch.csn.rawValue, copies: isFirst, next: next,
        rowCount: batch.rows.count, isFull: !batch.position.isComplete)
    }

    private mutating func changes() throws -> FeedStep? {
      let batch: FeedBatch?
      do throws(DatabaseError) {
        batch = try mirror.database.nextChanges(of: feed, after: sink.state.cursor, limit: limit)
      } catch {
        guard error.code == .cursorExpired else { throw error.code == .cursorForeign ? Self.foreign(error) : error }
        beginAnew(Self.expired)
        return try next()
      }
      var next = sink.state
      guard let batch else {
        guard next.state != .consistent else { return nil }
        next.state = .consistent
        return FeedStep(changes: [], csn: next.csn, next: next, rowCount: 0)
      }
      next.cursor = batch.cursor
      let isMixture = batch.isCatchingUp || batch.cursor.csn.rawValue < next.consistentFrom
      next.state = isMixture ? .catchingUp : .consistent
      return FeedStep(
        changes: try noted(try encoder.changes(of: batch)), csn: batch.csn.rawValue, next: next,
        rowCount: batch.changes.count, isFull: batch.isCatchingUp)
    }

    /// The same with what the bytes of rows are read with, as it is now: names of fields are only added.
    private func noted(_ changes: [SinkChange]) throws -> [SinkChange] {
      let names: [String] = changes.compactMap { change in
        switch change {
        case .store(let collection, _), .rename(_, let collection): collection
        default: nil
        }
      }
      if names.isEmpty { return changes }
      let notes = try mirror.database.read { tx in
        names.map { name in (name, tx.values(in: name).notes) }
      }
      // Rows that are told of under an older name come to the notes when the renaming is told of.
      return changes
        + notes.filter { $0.1.object.coder != nil }.map { name, notes in
          .note(collection: name, RowLine.notes(collection: name, notes).json)
        }
    }

    // MARK: Afterwards

    /// Learns from a step how many rows the next one has.
    mutating func didStore(_ step: FeedStep, in duration: Duration) throws {
      reasonToBegin = nil
      if duration > Self.longestTime { rowLimit = max(1, rowLimit / 2) }
      byteLimit = min(byteLimit * 2, Self.firstByteLimit)
      if step.isFull, duration < Self.shortestTime { rowLimit = min(rowLimit * 2, mirror.options.largestBatch) }
      if ContinuousClock.now - releaseTime > Self.releaseInterval { try release(isLast: true) }
    }

    /// Tells the feed what is stored in PostgreSQL. It keeps some of that all the same, for a sink that goes back.
    ///
    /// - Parameter isLast: whether it is told at once, and not once in a while.
    mutating func release(isLast: Bool) throws {
      guard isLast || ContinuousClock.now - releaseTime > Self.releaseInterval else { return }
      guard let cursor = sink.state.cursor, cursor != released else { return }
      try mirror.database.release(feed, upTo: cursor)
      (released, releaseTime) = (cursor, .now)
    }
  }
#endif
