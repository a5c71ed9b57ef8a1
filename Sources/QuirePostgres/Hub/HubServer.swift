// What a member asks of a hub.

#if Postgres
  /// A row of a push, and what it replaces.
  struct HubPush: Sendable {
    /// Who pushes.
    var origin: String
    /// The database that pushes: its identity, which a copy that goes its own way shares, and the number tells apart.
    var lineage: String
    /// The number of the push, and one that no other push has.
    var number: Int64
    var token: Int64
    var entries: [HubIntent.Entry]
  }

  /// What a hub knows of a member.
  struct HubMember: Sendable, Equatable {
    var lineage: String
    /// The number of the last push that was taken over; 0 if there was none.
    var number: Int64
    var token: Int64
    /// A flag for each entry of that push: 1 if it was taken over, 0 if the hub had another version.
    var outcome: [UInt8]
  }

  /// A change of the hub.
  struct HubChange: Sendable, Equatable {
    var place: HubPlace
    var collection: String
    var key: String
    var version: Int64
    var origin: String
    /// The row's text; nil if it was removed.
    var row: String?
    /// The marks of the pushes that made this version and those before, newest first.
    var marks: [Int64]
  }

  /// Some changes of a hub, in their order.
  struct HubChanges: Sendable {
    var changes: [HubChange] = []
    /// The place behind which to go on.
    var end: HubPlace
    /// How many rows there are beside them that are none: their keys are no text, or what says how they came about
    /// cannot be read. Somebody has written them into the tables by hand.
    var unusableCount = 0
  }

  /// A hub, as its members see it. Calls block; one at a time.
  ///
  /// All members see the changes in one order, in which they were taken over: a change that is seen has all before it
  /// in front of it.
  protocol HubServer: AnyObject {
    /// What the hub knows of a member; nil if it has never heard of it.
    func member(_ origin: String) throws(HubError) -> HubMember?

    /// Takes a push over, in one transaction: each entry whose base is the hub's version gets the next version. Returns
    /// the outcome, entry by entry: 1 if it was taken over, 0 if not. A push that the hub has heard of has the outcome
    /// of then; one whose number is not behind that of the member's last is refused whole, with `anotherMember`.
    func push(_ push: HubPush) throws(HubError) -> [UInt8]

    /// The changes of some collections behind a place, in their order; as many as `limit`, and those that came with the
    /// last of them. Each row once, as it is.
    func changes(of collections: [String], after place: HubPlace, limit: Int) throws(HubError) -> HubChanges

    /// Whether a place is one of the hub's own: false if the hub was put back since, or may have been.
    func knows(_ place: HubPlace) throws(HubError) -> Bool
  }
#endif
