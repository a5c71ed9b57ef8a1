// The driver of crash tests as apps use it: what is tested, how much, and the run.

public import QuireDatabase

/// A test of an app's rows and extensions: random histories of a database on a disk that crashes and fails, beside a
/// model that knows what it must show.
///
/// ```swift
/// var test = CrashTest()
/// test.add(.songs) { random in
///   Song(title: ["Blue Train", "Night Train", "Blue in Green"][random.below(3)])
/// } metadata: { random in
///   random.oneIn(2) ? PlayState(plays: random.below(9)) : nil
/// }
/// test.add(WordIndex()) { tx, index in
///   try tx.access(to: index).rows(with: "train").compactMap { try tx.key(of: $0)?.key }.sorted()
/// } expected: { rows, _ in
///   rows[.songs].filter { $0.value.object.title.hasSuffix("Train") }.keys.sorted()
/// }
/// try test.run()
/// ```
///
/// A history stores, replaces, touches and removes rows, singly, by the list and by the collection, in transactions
/// with savepoints that commit or are undone; registers extensions late, again, in other versions and with other
/// transactions between its steps, and unregisters them; renames collections, closes and opens; and loses its power,
/// its process or a call of the disk's at any moment. After each of these steps rows and extensions are compared with
/// the model, in the newest snapshot and in one that is held. See the guide “Testing your app”.
///
/// Everything follows from seeds: a history that fails does so each time. It is led again without some of its
/// operations, until none of those that are left can be left out.
///
/// Extensions may read rows in their hooks, but not change them: the model would not know.
public struct CrashTest: Sendable {
  /// The seed of the first history; the others have the numbers after it. 1 by default. The variable
  /// `QUIRE_CRASH_SEED` of the environment wins over it.
  public var seed: UInt64 = 1
  /// How many histories there are, 40 by default. The variable `QUIRE_CRASH_HISTORIES` of the environment wins over
  /// it; where only the seed is set there, there is one history.
  public var historyCount = 40
  /// How many steps a history has: a transaction is one, and so is a crash.
  public var stepCount = 40
  /// How long a history that fails is led again to find out which of its operations it needs.
  public var shrinkingTime = Duration.seconds(20)

  /// Whether histories rename collections at openings: rows are stored under another name, and get that of the
  /// collection by `Database.Options.renamedCollections`. Not for extensions that keep names of collections, or cannot
  /// bear rows of one that they do not know. True by default.
  public var renamesCollections = true

  /// Whether crashes take the last commit along, which they must not: it is to be found.
  package var forgetsCommits = false

  private(set) var collections: [any TestedCollection] = []
  private(set) var extensions: [TestedExtension] = []

  /// A test of nothing yet.
  public init() {}

  /// Adds a collection, whose rows histories change.
  ///
  /// The collection may have coders, compression and encryption of any kind, but nothing that changes what is stored,
  /// like `sanitizing`.
  ///
  /// - Parameters:
  ///   - collection: its description, as the app has it.
  ///   - keys: the keys of its rows. Few are better than many: rows that are never changed find nothing.
  ///   - object: makes an object from random numbers, of which nothing else may come.
  ///   - metadata: makes metadata, or none; none at all by default.
  /// - Precondition: no collection of this name was added, and there is a key.
  public mutating func add<Object: Equatable, Metadata: Equatable>(
    _ collection: RowCollection<Object, Metadata>, keys: [String] = CrashTest.usualKeys,
    object: @escaping @Sendable (inout SeededRandom) -> Object,
    metadata: @escaping @Sendable (inout SeededRandom) -> Metadata? = { _ in nil }
  ) {
    precondition(!keys.isEmpty, "the collection \(collection.name) has no keys")
    precondition(!collections.contains { $0.name == collection.name }, "\(collection.name) was added before")
    collections.append(
      TypedCollection(collection: collection, keys: keys, makeObject: object, makeMetadata: metadata))
  }

  /// The keys of rows where nothing else is said: “k0” to “k11”.
  public static let usualKeys = (0..<12).map { "k\($0)" }

  /// Adds an extension, and how to see that it is right: what is found must be what is expected.
  ///
  /// - Parameters:
  ///   - value: the extension. Those that it depends on are to be added before.
  ///   - otherVersions: the same extension in other versions, which histories change to at some opening.
  ///   - found: asks the extension, in a snapshot; it is registered and ready.
  ///   - expected: says what the answer must be, from the rows alone.
  /// - Precondition: all versions have one name, which no other extension has.
  public mutating func add<Kind: DatabaseExtension, Value: Equatable & Sendable>(
    _ value: Kind, otherVersions: [Kind] = [],
    found: @escaping @Sendable (ReadTransaction, Kind) throws -> Value,
    expected: @escaping @Sendable (ExpectedRows, Kind) throws -> Value
  ) {
    add(value, otherVersions: otherVersions) { tx, version, rows in
      let (one, other) = (try found(tx, version), try expected(rows, version))
      if one != other { throw CrashFinding("found \(one), and expected \(other)") }
    }
  }

  /// Adds an extension, and how to see that it is right: `check` throws if it is not.
  ///
  /// - Parameters:
  ///   - value: the extension. Those that it depends on are to be added before.
  ///   - otherVersions: the same extension in other versions, which histories change to at some opening.
  ///   - check: gets a snapshot in which the extension is registered and ready, and the rows that the snapshot has.
  ///     What it throws is part of the failure.
  /// - Precondition: all versions have one name, which no other extension has.
  public mutating func add<Kind: DatabaseExtension>(
    _ value: Kind, otherVersions: [Kind] = [],
    check: @escaping @Sendable (ReadTransaction, Kind, ExpectedRows) throws -> Void
  ) {
    let versions = [value] + otherVersions
    precondition(versions.allSatisfy { $0.name == value.name }, "the versions of \(value.name) have other names")
    precondition(!extensions.contains { $0.name == value.name }, "\(value.name) was added before")
    extensions.append(TestedExtension(versions, check))
  }

  /// Leads the histories, up to the first that fails. The thread is busy meanwhile: some seconds, as a rule.
  ///
  /// - Parameter function: the test, for the line that repeats it; the calling function if nothing is said.
  /// - Returns: what has happened in all of them.
  /// - Throws: `CrashTestFailure`, whose description says everything.
  /// - Precondition: a collection was added.
  @discardableResult
  public func run(function: String = #function) throws(CrashTestFailure) -> CrashTestReport {
    precondition(!collections.isEmpty, "a crash test needs a collection")
    let asked = environmentNumber("QUIRE_CRASH_SEED")
    let first = asked.map { UInt64(bitPattern: Int64($0)) } ?? seed
    let count = environmentNumber("QUIRE_CRASH_HISTORIES") ?? (asked == nil ? historyCount : 1)
    var report = CrashTestReport()
    for number in 0..<max(0, count) {
      let seed = first &+ UInt64(number)
      let operations = HistoryOperation.history(of: self, seed: seed)
      let history = CrashHistory(self, seed: seed)
      do { try history.run(operations) } catch {
        throw failure("\(error)", seed, operations, String(function.prefix { $0 != "(" }))
      }
      report.add(history.report)
    }
    return report
  }

  /// What a history fails with, and what it needs of its operations for that.
  private func failure(
    _ finding: String, _ seed: UInt64, _ operations: [HistoryOperation], _ function: String
  ) -> CrashTestFailure {
    var finding = finding
    let needed = shrink(operations, until: .now + shrinkingTime) { fewer in
      do { try CrashHistory(self, seed: seed).run(fewer) } catch {
        finding = "\(error)"
        return true
      }
      return false
    }
    return CrashTestFailure(
      finding: finding, seed: seed, operations: HistoryOperation.describe(needed, self),
      operationCount: operations.count, replay: "QUIRE_CRASH_SEED=\(seed) swift test --filter \(function)")
  }
}
