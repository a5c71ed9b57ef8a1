// What a member of a hub keeps of it, in collections of the database itself.

#if Postgres
  internal import QuireDatabase

  /// A row as the hub had it when this database last agreed with it: what both sides have changed since is told by it.
  struct HubBase: Codable, Sendable, Equatable {
    /// The version that the hub gave it; 0 if the hub has never had it.
    var version: Int64
    /// The row's text; nil if it was removed.
    var row: String?
    /// The marks of the pushes that made this version and those before, newest first.
    var marks: [Int64] = []
  }

  /// How two versions of a row came about: what their marks say.
  enum HubKinship {
    /// The marks that a version has at the most.
    static let markCount = 8

    case same
    /// The second one came from the first.
    case later
    /// The first one came from the second.
    case earlier
    /// Neither from the other, or too long ago to tell.
    case none

    init(_ first: [Int64], _ second: [Int64]) {
      switch (first.first, second.first) {
      case (let one, let other) where one == other: self = .same
      case (nil, _): self = .later
      case (_, nil): self = .earlier
      case (let one?, _) where second.contains(one): self = .later
      case (_, let other?) where first.contains(other): self = .earlier
      default: self = .none
      }
    }
  }

  /// What the hub has of a row on which both sides do not agree, until the app's rule decides.
  struct HubTheirs: Codable, Sendable, Equatable {
    var version: Int64
    var row: String?
    var marks: [Int64]
    var origin: String
    /// Why this database cannot store it, if that is what stands in the way.
    var reason: String?
    /// Whether the hub has lost this version: what it has instead, if anything, is the row's base. True or nil.
    var isLost: Bool?
  }

  /// A push that is under way: written before the hub hears of it, so that its outcome can be told whenever the answer
  /// was lost, or the process ended.
  struct HubIntent: Codable, Sendable, Equatable {
    struct Entry: Codable, Sendable, Equatable {
      var collection: String
      var key: String
      /// The version that the row replaces; 0 if it is new to the hub.
      var base: Int64
      /// The row's text; nil if it is to be removed.
      var row: String?
      /// The marks of the version that it replaces.
      var marks: [Int64]

      /// The marks of the version that it becomes in a push of this token.
      func marks(_ token: Int64) -> [Int64] { [token] + marks.prefix(HubKinship.markCount - 1) }
    }

    /// The number of the push: one more than that of the last one.
    var number: Int64
    /// A number that no other push has, the mark of its rows: a push that is heard of twice is known by it.
    var token: Int64
    /// The database that pushes.
    var lineage: String
    var entries: [Entry]
    /// Where the feed is followed from once the push has ended.
    var position: String
  }

  /// How far a member has come.
  struct HubState: Codable, Sendable, Equatable {
    /// The place in the hub's order up to which changes have come down.
    var inbound: HubPlace = HubPlace()
    /// Where the feed is followed from; nil if it has not begun.
    var outbound: String?
    /// The number of the last push whose outcome is known.
    var pushed: Int64 = 0
    /// The collections of which everything up to `inbound` has come down.
    var collections: [String]?
  }

  /// A place in the order of a hub's changes.
  struct HubPlace: Codable, Sendable, Hashable {
    /// The number of the last change.
    var sequence: Int64 = 0
    /// The mark of the push that it came with: a hub that was put back to an older state has another one there.
    var mark: Int64 = 0
  }

  extension RowCollection where Object == HubState, Metadata == NoMetadata {
    /// One row, under the name of the hub.
    static var hubStates: Self { .init("quire.hub.state") }
  }

  extension RowCollection where Object == HubIntent, Metadata == NoMetadata {
    /// One row at the most, under the name of the hub.
    static var hubIntents: Self { .init("quire.hub.intent") }
  }

  extension RowCollection where Object == HubBase, Metadata == NoMetadata {
    /// What was agreed upon of a collection's rows, by their keys.
    static func hubBases(_ collection: String) -> Self { .init("quire.hub.base:\(collection)") }
  }

  extension RowCollection where Object == HubTheirs, Metadata == NoMetadata {
    /// The rows of a collection that are not agreed upon, by their keys.
    static func hubConflicts(_ collection: String) -> Self { .init("quire.hub.conflict:\(collection)") }
  }

  extension RowCollection where Object == Int64, Metadata == NoMetadata {
    /// The keys of a collection's rows that have to be pushed, though the feed may not tell of them again; each with
    /// the version of the hub that was seen.
    static func hubPending(_ collection: String) -> Self { .init("quire.hub.pending:\(collection)") }
  }
#endif
