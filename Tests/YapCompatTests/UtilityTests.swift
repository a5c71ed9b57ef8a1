// The pool, the write-behind proxy, and small types.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite struct UtilityTests {
  let fixture: YapFixture

  init() throws { fixture = try YapFixture() }

  // MARK: Pool

  @Test func thePoolMakesConnectionsAsTheyAreNeeded() async throws {
    let pool = YapDatabaseConnectionPool(database: fixture.database)
    let made = Recorder()
    pool.didCreateNewConnectionBlock = { made.append($0.name ?? "nameless") }
    let config = YapDatabaseConnectionConfig()
    config.objectCacheLimit = 3
    pool.connectionDefaults = config
    let first = pool.connection()
    #expect(pool.connection() === first && first.objectCacheLimit == 3 && pool.connectionLimit == 3)
    // While all are busy, there are new ones up to the limit, and then those with the least to do.
    let go = DispatchSemaphore(value: 0)
    var busy: [YapDatabaseConnection] = [first]
    first.asyncRead { _ in go.wait() }
    for _ in 0..<2 {
      let next = pool.connection()
      next.asyncRead { _ in go.wait() }
      busy.append(next)
    }
    #expect(Set(busy.map(ObjectIdentifier.init)).count == 3 && made.values.count == 3)
    first.asyncRead { _ in }
    #expect(pool.connection() !== first && made.values.count == 3)
    for _ in 0..<3 { go.signal() }
    pool.connectionLimit = 1
    #expect(pool.connection() === first)
    pool.connectionLimit = 0
    #expect(pool.connectionLimit == 3)
    let done = Gate()
    for connection in busy { connection.flushTransactions(withCompletionQueue: .global()) { done.open() } }
    await done.wait(3)
  }

  // MARK: Proxy

  @Test func theProxyShowsWhatIsPending() async throws {
    try fixture.fill("a", 3)
    let proxy = YapDatabaseConnectionProxy(database: fixture.database)
    let go = DispatchSemaphore(value: 0)
    // Nothing is stored before this is over.
    proxy.readWriteConnection.asyncReadWrite { _ in go.wait() }
    proxy.setObject("new", forKey: "new", inCollection: "a", withMetadata: "m")
    proxy.setObject("set", forKey: "key1", inCollection: "a")
    proxy.replace("replaced", forKey: "key2", inCollection: "a")
    proxy.replaceMetadata("other", forKey: "key2", inCollection: "a")
    proxy.removeObjects(forKeys: ["key3"], inCollection: "a")
    proxy.replace("nobody", forKey: "missing", inCollection: "a")
    func seen() -> [String?] {
      ["new", "key1", "key2", "key3"].flatMap { key in
        [
          proxy.object(forKey: key, inCollection: "a") as? String,
          proxy.metadata(forKey: key, inCollection: "a") as? String,
        ]
      }
    }
    let expected = ["new", "m", "set", nil, "replaced", "other", nil, nil]
    #expect(seen() == expected)
    var (object, metadata): (Any?, Any?) = (nil, nil)
    #expect(proxy.getObject(&object, metadata: &metadata, forKey: "new", inCollection: "a"))
    #expect(object as? String == "new" && metadata as? String == "m")
    #expect(!proxy.getObject(&object, metadata: &metadata, forKey: "key3", inCollection: "a") && metadata == nil)
    #expect(try fixture.connection.read { $0.object(forKey: "key1", inCollection: "a") as? String } == "object")
    go.signal()
    let done = Gate()
    proxy.flush(completionQueue: .global()) { done.open() }
    await done.wait()
    #expect(seen() == expected)
    try fixture.connection.read { transaction in
      #expect(transaction.allKeys(inCollection: "a") == ["key1", "key2", "new"])
      #expect(transaction.object(forKey: "key2", inCollection: "a") as? String == "replaced")
      #expect(transaction.metadata(forKey: "key2", inCollection: "a") as? String == "other")
    }
    // A replacement of a row that does not exist is forgotten with its write.
    #expect(proxy.object(forKey: "missing", inCollection: "a") == nil)
    #expect(fixture.errors.values.isEmpty)
  }

  @Test func theProxyForgetsAndFails() async throws {
    let proxy = YapDatabaseConnectionProxy(
      readOnlyConnection: fixture.connection, readWriteConnection: fixture.database.newConnection())
    let (go, done) = (DispatchSemaphore(value: 0), Gate())
    proxy.readWriteConnection.asyncReadWrite { _ in go.wait() }
    proxy.setObject("a", forKey: "a", inCollection: nil)
    proxy.setObject("b", forKey: "b", inCollection: nil)
    proxy.resetObject(forKey: "a", inCollection: nil)
    #expect(proxy.object(forKey: "a", inCollection: nil) == nil)
    #expect(proxy.object(forKey: "b", inCollection: nil) as? String == "b")
    proxy.reset()
    proxy.fetchedCollectionsFilter = YapWhitelistBlacklist(blacklist: ["songs"])
    go.signal()
    proxy.flush(completionQueue: .global()) { done.open() }
    await done.wait()
    #expect(try fixture.connection.read { $0.numberOfCollections() } == 0)
    try fixture.connection.readWrite { $0.setObject(Song(title: "x"), forKey: "s", inCollection: "songs") }
    #expect(proxy.object(forKey: "s", inCollection: "songs") == nil)
    // A row that can never be stored is given up, and keeps nobody else.
    proxy.setObject(7, forKey: "s", inCollection: "songs")
    proxy.setObject("kept", forKey: "other", inCollection: "a")
    proxy.flush(completionQueue: .global()) { done.open() }
    await done.wait()
    #expect(fixture.errors.values == ["collectionMismatch"])
    proxy.fetchedCollectionsFilter = nil
    #expect(proxy.object(forKey: "s", inCollection: "songs") as? Song == Song(title: "x"))
    #expect(try fixture.connection.read { $0.object(forKey: "other", inCollection: "a") as? String } == "kept")
    // A database that cannot be written keeps it all pending.
    try fixture.database.close()
    proxy.setObject("late", forKey: "late", inCollection: "a")
    proxy.flush(completionQueue: .global()) { done.open() }
    await done.wait()
    #expect(fixture.errors.values.last == "closed")
    #expect(proxy.object(forKey: "late", inCollection: "a") as? String == "late")
  }

  // MARK: Small types

  @Test func keysAndListsCompareByBytes() throws {
    let (composed, decomposed) = (
      YapCollectionKey(collection: "c", key: "\u{e9}"), YapCollectionKey(collection: "c", key: "e\u{301}")
    )
    #expect(composed != decomposed && decomposed < composed && Set([composed, decomposed]).count == 2)
    #expect(YapCollectionKey.create(withCollection: nil, key: "k") == YapCollectionKey(RowKey("", "k")))
    #expect("\(YapCollectionKey(collection: "c", key: "k"))" == "c/k")
    let bytes = try JSONEncoder().encode(composed)
    #expect(try JSONDecoder().decode(YapCollectionKey.self, from: bytes) == composed)

    #expect(
      YapWhitelistBlacklist(whitelist: ["a"]).isAllowed("a") && !YapWhitelistBlacklist(whitelist: ["a"]).isAllowed("b"))
    #expect(!YapWhitelistBlacklist<String>(whitelist: nil).isAllowed("a"))
    #expect(YapWhitelistBlacklist<String>(blacklist: nil).isAllowed("a"))
    #expect(!YapWhitelistBlacklist(blacklist: ["a"]).isAllowed("a"))
    #expect(YapWhitelistBlacklist<String> { $0.count == 1 }.isAllowed("a"))
    let info = try JSONDecoder().decode(YapDatabaseCommitInfo.self, from: Data("{}".utf8))
    #expect(info.customObject == nil && info.connection == nil)
    #expect(try JSONEncoder().encode(info) == Data("{}".utf8))
  }
}
