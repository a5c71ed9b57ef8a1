// Rows that two sides have changed.

#if Postgres
  /// A row that was changed here and, before the hub had heard of that, elsewhere.
  public struct HubConflict: Sendable, Hashable {
    /// The collection.
    public let collection: String
    /// The key.
    public let key: String
    /// The row as both had it before; nil if neither had, or if it is not known, as when the hub has lost it.
    public let base: HubRow?
    /// The row as it is here; nil if it was removed.
    public let mine: HubRow?
    /// The row as the hub has it; nil if it was removed, or cannot be read, which ``reason`` tells then.
    public let theirs: HubRow?
    /// Who has changed it in the hub.
    public let origin: String
    /// The hub's version of the row.
    public let version: Int64
    /// Why the row cannot be stored here, if that is what is in the way: rows of another coder, or of a newer version
    /// of the app.
    public let reason: String?
  }

  /// What becomes of a row on which two sides do not agree.
  public enum HubResolution: Sendable, Hashable {
    /// The hub's row is stored here.
    case theirs
    /// The row that is here is pushed, in the place of the hub's.
    case mine
    /// Another row is stored here, and pushed; nil removes it on both sides.
    case row(HubRow?)
    /// Nothing yet: the row stays as it is here, is not pushed, and is listed by ``PostgresHub/conflicts()``.
    case undecided
  }

  /// How an app decides about rows that two sides have changed. Called in a write transaction, possibly again for the
  /// same row: changes nothing but by what it returns, opens no transaction, and is quick, as writers wait for it. If
  /// it throws, the row stays undecided.
  public typealias HubRule = @Sendable (HubConflict) throws -> HubResolution
#endif
