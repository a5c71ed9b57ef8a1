// What keeps several hubs from using what one database knows of its hub.

#if Postgres
  internal import QuireDatabase
  internal import Synchronization

  /// A database's place at its hub, which all `PostgresHub`s over the database share. There is one as long as there is
  /// one of these.
  ///
  /// What a database knows of its hub is one: two hubs in turn would take each other's versions for their own, and the
  /// rule would decide about rows that nobody has changed.
  final class HubSeat: Sendable {
    private struct Entry { weak var seat: HubSeat? }

    private static let all = Mutex<[ObjectIdentifier: Entry]>([:])

    /// Whether a call is under way.
    let isBusy = Atomic(false)
    private let database: ObjectIdentifier
    /// Which hub it is, and who the database is to it.
    private let place: [String]

    private init(_ database: ObjectIdentifier, _ place: [String]) { (self.database, self.place) = (database, place) }

    deinit {
      let database = database
      // Another one may have been made since.
      Self.all.withLock { seats in if seats[database]?.seat == nil { seats[database] = nil } }
    }

    /// The seat of a database; made if there is none.
    ///
    /// - Throws: `invalidOption` if there is one at another place.
    static func taken(of database: Database, _ place: [String]) throws(HubError) -> HubSeat {
      let key = ObjectIdentifier(database)
      let seat = all.withLock { seats in
        if let seat = seats[key]?.seat { return seat }
        let seat = HubSeat(key, place)
        seats[key] = Entry(seat: seat)
        return seat
      }
      guard seat.place.elementsEqual(place, by: { $0.hasBytes(of: $1) }) else {
        throw HubError(
          .invalidOption,
          """
          There is another PostgresHub over this database, of another hub, origin or other collections. A database \
          takes part in one hub: let go of that one first.
          """)
      }
      return seat
    }
  }
#endif
