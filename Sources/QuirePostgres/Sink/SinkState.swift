// Where a mirror is, as PostgreSQL has it.

#if Postgres
  internal import QuireDatabase
  internal import QuireStorage

  /// Where a mirror is. Stored with the rows, in their transactions.
  ///
  /// Invariant: `progress` is there as long as rows go over by ranges: all rows if `state` is `bootstrapping`, those of
  /// tables that have got columns otherwise. In the beginning, when nothing has gone over, both are nil.
  struct SinkState: Sendable {
    var state = PostgresStatus.State.bootstrapping
    /// Where changes are followed from.
    var cursor: FeedCursor?
    /// How far rows have gone over by ranges.
    var progress: BootstrapPosition?
    /// The newest snapshot that rows have gone over from by ranges; there is a mixture until the changes come to it.
    var consistentFrom: UInt64 = 0

    /// Whether nothing has gone over.
    var isNew: Bool { cursor == nil && progress == nil }

    /// The commit that the tables have come to: in a mixture, unless the state is consistent. Grows with each
    /// transaction, but for a mirror that begins anew.
    var csn: UInt64 {
      let csn = (cursor ?? progress?.cursor)?.csn.rawValue ?? 0
      return state == .bootstrapping ? csn : max(csn, consistentFrom)
    }

    /// What the cursor's row is known by.
    var mark: SinkMark { SinkMark(state: state.rawValue, cursor: cursor?.bytes ?? [], progress: progress?.bytes ?? []) }

    /// The parameters of `Statement.moveCursor` that say where it is moved to.
    var parameters: [Parameter] {
      let cursor = cursor ?? progress?.cursor
      let mark = mark
      return [
        .text(cursor.map { "\($0.lineage)" } ?? ""), .integer(Int64(bitPattern: cursor?.epoch ?? 0)),
        .integer(Int64(bitPattern: csn)), .integer(Int64(cursor?.part ?? 0)),
        .integer(Int64(bitPattern: cursor?.chain ?? 0)), .text(mark.state), .bytes(mark.cursor), .bytes(mark.progress),
        .integer(Int64(bitPattern: consistentFrom)),
      ]
    }
  }

  /// What tells one place of the cursor from another.
  struct SinkMark: Hashable, Sendable {
    let state: String
    let cursor: [UInt8]
    let progress: [UInt8]

    var parameters: [Parameter] { [.text(state), .bytes(cursor), .bytes(progress)] }
  }
#endif
