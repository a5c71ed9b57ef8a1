// What the torture writes: a bank whose balances sum to zero in every commit, and rows of all fates beside it.

#if Postgres
  internal import QuireDatabase
  internal import QuireTesting

  /// An account of the bank.
  struct Account: Codable, Sendable {
    var balance: Int
    var note: String
  }

  /// A row that comes and goes.
  struct Thing: Codable, Sendable {
    var number: Int
    var text: String
  }

  /// A row that a sink may be unable to take.
  struct OddRow: Codable, Sendable {
    var text: String
    var value: Double
  }

  extension RowCollection where Object == Account, Metadata == NoMetadata {
    static var accounts: Self { .init("accounts") }
  }

  extension RowCollection where Object == Thing, Metadata == NoMetadata {
    static var still: Self { .init("still") }
  }

  extension RowCollection where Object == OddRow, Metadata == NoMetadata {
    static var odd: Self { .init("odd") }
  }

  /// Draws transactions and commits them.
  struct TortureWriter {
    /// The most accounts that there are.
    static let accountCount = 200
    /// The names between which one collection changes.
    static let thingNames = ["things", "items"]

    let database: Database
    let things: RowCollection<Thing, NoMetadata>
    let isPoisonous: Bool
    /// A collection of somebody else's, whose rows are changed as well.
    let touched: String?
    private var random: SeededRandom
    private(set) var transactionCount = 0

    /// Begins with what the database has.
    ///
    /// - Parameters:
    ///   - database: the bank's.
    ///   - things: the name of the collection of things in this run.
    ///   - isPoisonous: whether rows are written that PostgreSQL cannot take as they are.
    ///   - touched: a collection of any type, of which rows are doubled and removed.
    ///   - seed: what the transactions are drawn from.
    init(database: Database, things: String, isPoisonous: Bool, touched: String?, seed: UInt64) {
      self.database = database
      self.things = RowCollection(things)
      self.isPoisonous = isPoisonous
      self.touched = touched
      random = SeededRandom(seed: seed)
    }

    /// Commits one transaction.
    mutating func commitNext() throws {
      var random = random
      let number = transactionCount
      try database.write { tx in
        try changeBank(tx, &random)
        try changeThings(tx, &random, number)
        if isPoisonous, random.oneIn(8) { try changeOddRows(tx, &random) }
        if let touched { try changeRow(of: touched, tx, &random) }
      }
      self.random = random
      transactionCount += 1
    }

    /// Stores rows that nobody changes, in transactions of a thousand.
    func store(_ count: Int) throws {
      for start in stride(from: 0, to: count, by: 1000) {
        try database.write { tx in
          for number in start..<min(start + 1000, count) {
            let thing = Thing(number: number, text: "This is row \(number), and stays as it is.")
            try tx[.still].set(thing, for: "r\(number)")
          }
        }
      }
    }

    // MARK: The bank

    private func changeBank(_ tx: borrowing WriteTransaction, _ random: inout SeededRandom) throws {
      let count = tx[.accounts].count
      if count < 2 || (count < Self.accountCount && random.oneIn(6)) {
        let key = "a\(random.below(10_000))"
        if try tx[.accounts].get(key) == nil { try tx[.accounts].set(Account(balance: 0, note: "new"), for: key) }
        return
      }
      let keys = tx[.accounts].rows.map(\.key)
      let (from, to) = (keys[random.below(keys.count)], keys[random.below(keys.count)])
      guard from != to, var giver = try tx[.accounts].get(from), var taker = try tx[.accounts].get(to) else { return }
      // Who leaves takes nothing along.
      let isLeaving = random.oneIn(12)
      let amount = isLeaving ? giver.balance : random.below(1000)
      giver.balance -= amount
      taker.balance += amount
      taker.note = String(repeating: "got \(amount), ", count: random.below(12))
      try tx[.accounts].set(taker, for: to)
      if isLeaving { try tx[.accounts].remove(from) } else { try tx[.accounts].set(giver, for: from) }
    }

    // MARK: What comes and goes

    private func changeThings(_ tx: borrowing WriteTransaction, _ random: inout SeededRandom, _ number: Int) throws {
      if random.oneIn(120) { try tx[things].removeAll() }
      // More than one batch takes.
      let count = random.oneIn(200) ? 3000 : random.below(4)
      for _ in 0..<count {
        let key = "t\(random.below(500) + (count > 4 ? 500 + random.below(4000) : 0))"
        if random.oneIn(4) {
          try tx[things].remove(key)
        } else {
          let text = String(repeating: "é\"\\'\t\u{1F682} ", count: random.below(6))
          try tx[things].set(Thing(number: number, text: text), for: key)
        }
      }
    }

    /// Removes the row behind a drawn place, or stores it once more under another key.
    private func changeRow(
      of collection: String, _ tx: borrowing WriteTransaction, _ random: inout SeededRandom
    ) throws {
      let values = tx.values(in: collection)
      let place = (0..<2).map { _ in Character(Unicode.Scalar(UInt8(97 + random.below(26)))) }
      var rows = values.rows.rows(from: String(place)).makeIterator()
      guard let row = rows.next() else { return }
      if random.oneIn(2) {
        try values.remove(row.key)
      } else {
        try values.set(row.object, metadata: row.metadata, for: "\(place[0])\(random.below(1000))-\(row.key)")
      }
    }

    private func changeOddRows(_ tx: borrowing WriteTransaction, _ random: inout SeededRandom) throws {
      let key = "o\(random.below(12))"
      switch random.below(9) {
      case 0: try tx[.odd].set(OddRow(text: "no\0text", value: 1), for: key)
      case 1: try tx[.odd].set(OddRow(text: "not a number", value: .nan), for: key)
      case 2: try tx[.odd].set(OddRow(text: "endless", value: -.infinity), for: key)
      case 3: try tx[.odd].set(OddRow(text: String(repeating: "long ", count: 50_000), value: 2), for: key)
      case 4: try tx[.odd].set(OddRow(text: "long key", value: 3), for: String(repeating: "k", count: 1020))
      case 5: try tx[.odd].set(OddRow(text: "mended", value: 4), for: key)
      case 6: try tx[.odd].set(OddRow(text: "refused", value: 5), for: key)
      case 7: try tx[.odd].set(OddRow(text: "no text as a key", value: 6), for: "\(key)\0")
      default: try tx[.odd].remove(key)
      }
    }
  }
#endif
