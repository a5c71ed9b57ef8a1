// Changes that an extension does not hear of, and must not miss.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct MissedChangeTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func index(_ name: String, over collections: CollectionFilter) -> ValueIndex<String, String> {
    var index = ValueIndex<String, String>(name, { .texts($0) }, make: { object, _ in object })
    index.collections = collections
    return index
  }

  @Test("What depends on an extension is stale when rows change that only that one follows", arguments: [true, false])
  func dependents(isParentRegistered: Bool) throws {
    let parent = index("parent", over: .only(["t"]))
    var child = index("child", over: .only(["u"]))
    child.dependencies = ["parent"]
    var db = try folder.open()
    try db.register(parent)
    try db.register(child)
    try db.close()
    db = try folder.open()
    if isParentRegistered { try db.register(parent) }
    try db.write { tx throws in try tx[.texts("v")].set("x", for: "k") }
    #expect(try db.extensions().allSatisfy { $0.state == .ready })
    try db.write { tx throws in try tx[.texts("t")].set("x", for: "k") }
    let states = try db.extensions().map { "\($0.name) \($0.state)" }
    #expect(states.contains("child stale"))
    #expect(states.contains("parent \(isParentRegistered ? "ready" : "stale")"))
    try db.close()
  }

  @Test("A renamed collection is followed under its new name, and new to those that did not follow the old one")
  func renaming() throws {
    var db = try folder.open()
    try db.write { tx throws in for key in ["a", "b"] { try tx[.texts("old")].set(key, for: key) } }
    try db.register(index("both", over: .only(["old"])))
    try db.register(index("late", over: .only(["new"])))
    try db.register(index("others", over: .except(["new"])))
    try db.close()
    db = try folder.open(Database.Options(renamedCollections: ["old": "new"]))
    var steps = 0
    try db.register(index("both", over: .only(["new"]))) { _ in steps += 1 }
    #expect(steps == 0)
    for name in ["both", "late"] {
      let index = index(name, over: .only(["new"]))
      if name == "late" { try db.register(index) }
      #expect(try db.read { tx throws in try tx.access(to: index).all().count } == 2)
    }
    let others = index("others", over: .except(["new"]))
    try db.register(others)
    #expect(try db.read { tx throws in try tx.access(to: others).all().count } == 0)
    try db.close()
  }

  @Test("A registration that is stopped at its end takes what depends on it along") func stoppedAtTheEnd() throws {
    let db = try folder.open()
    try db.write { tx throws in try tx[.texts("t")].set("x", for: "k") }
    var child = index("child", over: .all)
    child.dependencies = ["parent"]
    struct Stopped: Error {}
    #expect(throws: Stopped.self) {
      try db.register(index("parent", over: .all)) { progress in
        try db.register(child)
        throw Stopped()
      }
    }
    #expect(try db.extensions().allSatisfy { !$0.isRegistered })
    try db.write { tx throws in try tx[.texts("t")].set("y", for: "k") }
    try db.register(index("parent", over: .all))
    try db.register(child)
    #expect(try db.read { tx throws in try tx.access(to: child).all().values.sorted() } == ["y"])
    try db.close()
  }
}
