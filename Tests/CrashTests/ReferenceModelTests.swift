// The reference model against the plainest model there is: a dictionary and sorting.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ReferenceModelTests {
  private let tree = TreeID(1)

  private func sorted(_ dictionary: [[UInt8]: [UInt8]]) -> [ModelEntry] {
    dictionary.keys.sorted { $0.lexicographicallyPrecedes($1) }.map { ModelEntry(key: $0, value: dictionary[$0] ?? []) }
  }

  /// Random changes, with copies kept on the way: they must not notice what happens later.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func agreesWithADictionary(seed: UInt64) throws {
    let count = [4, 64, 400][Int(seed % 3)]
    var picker = KeyPicker(KeyUniverse(count: count, seed: seed), seed: seed)
    var values = ValueGenerator(.equal(8), seed: seed)
    var random = SeededRandom(seed: seed)
    var state = ModelState()
    state.create(tree)
    var expected: [[UInt8]: [UInt8]] = [:]
    var kept: [(ModelState, [[UInt8]: [UInt8]])] = []
    for step in 0..<600 {
      switch random.below(40) {
      case 0:
        let range = picker.nextRange()
        let doomed = expected.keys.filter { isInside($0, range) }
        #expect(state.count(in: range, of: tree) == doomed.count)
        let deletedCount = state.deleteAll(in: range, of: tree)
        #expect(deletedCount == doomed.count)
        for key in doomed { expected[key] = nil }
      case 1...12:
        let key = picker.next()
        let wasThere = expected.removeValue(forKey: key) != nil
        let wasDeleted = state.delete(key, in: tree)
        #expect(wasDeleted == wasThere)
      default:
        let key = picker.next()
        let value = values.next()
        state.put(key, value, in: tree)
        expected[key] = value
      }
      if step % 97 == 0 { kept.append((state, expected)) }
    }
    kept.append((state, expected))
    for (state, expected) in kept {
      #expect(state.brokenInvariant() == nil)
      try compare(state, expected, &picker)
    }
  }

  private func isInside(_ key: [UInt8], _ range: ModelRange) -> Bool {
    if let lower = range.lower, key.lexicographicallyPrecedes(lower) { return false }
    return range.upper.map { key.lexicographicallyPrecedes($0) } ?? true
  }

  private func compare(_ state: ModelState, _ expected: [[UInt8]: [UInt8]], _ picker: inout KeyPicker) throws {
    let all = sorted(expected)
    #expect(state.entries(of: tree) == all)
    #expect(state.count(of: tree) == all.count)
    for (rank, entry) in all.enumerated() {
      #expect(state.rank(of: entry.key, in: tree) == rank)
      #expect(state.entry(at: rank, in: tree) == entry)
      #expect(state.value(of: entry.key, in: tree) == entry.value)
    }
    #expect(state.entry(at: all.count, in: tree) == nil)
    #expect(state.entry(at: -1, in: tree) == nil)
    for _ in 0..<20 {
      let key = picker.next()
      #expect(state.value(of: key, in: tree) == expected[key])
      #expect(state.rank(of: key, in: tree) == all.count { $0.key.lexicographicallyPrecedes(key) })
      let range = picker.nextRange()
      #expect(state.entries(in: range, of: tree) == all.filter { isInside($0.key, range) })
    }
  }

  @Test func digestsDependOnContentAlone() {
    let keys = (0..<50).map { KeyUniverse.key(Int64($0)) }
    var forward = ModelState()
    var backward = ModelState(csn: CSN(9))
    forward.create(tree)
    backward.create(TreeID(7))
    backward.create(tree)
    for key in keys { forward.put(key, key, in: tree) }
    for key in keys.reversed() {
      backward.put(key, [1], in: tree)
      backward.put([9, 9], [1], in: tree)
      backward.put(key, key, in: tree)
    }
    #expect(forward.digest != backward.digest)
    backward.delete([9, 9], in: tree)
    #expect(forward.digest != backward.digest)
    let drops = [backward.drop(TreeID(7)), backward.drop(TreeID(7))]
    #expect(drops == [true, false])
    #expect(forward.digest == backward.digest)
    var scanned = StateDigest()
    scanned.insert(tree)
    for key in keys.shuffled() { scanned.insert(key, key, in: tree) }
    #expect(scanned == forward.digest)
    scanned.remove(keys[0], keys[0], in: tree)
    scanned.insert(keys[0], keys[0], in: TreeID(2))
    #expect(scanned != forward.digest)
  }

  @Test func digestsTellWhereKeysEnd() {
    let splits: [([UInt8], [UInt8])] = [([], [1, 2]), ([1], [2]), ([1, 2], []), ([1, 2, 0], []), ([0, 1, 2], [])]
    let digests = splits.map { key, value in
      var digest = StateDigest()
      digest.insert(key, value, in: tree)
      return digest
    }
    #expect(Set(digests).count == splits.count)
  }

  @Test func differencesAreNamed() {
    var state = ModelState()
    state.create(tree)
    state.put([1], [1], in: tree)
    state.put([2], [2], in: tree)
    var other = state
    #expect(state.differences(in: other) == [])
    other.put([2], [3], in: tree)
    other.delete([1], in: tree)
    other.put([4], [], in: tree)
    other.create(TreeID(2))
    #expect(
      state.differences(in: other) == [
        "tree 1, key 01 (1 B): missing", "tree 1, key 02 (1 B): 03 (1 B) instead of 02 (1 B)",
        "tree 1, key 04 (1 B): should not exist", "tree 2 should not exist",
      ])
    #expect(other.differences(in: state, limit: 1).count == 1)
  }

  /// A model with commits 1 to 10, of which the n-th sets one key to n, but the fifth changes nothing.
  private func makeModel() -> ReferenceModel {
    var state = ModelState()
    state.create(tree)
    var model = ReferenceModel(state)
    for number in 1...10 as ClosedRange<UInt8> {
      var draft = model.newest
      if number != 5 { draft.put([0], [number], in: tree) }
      model.append(draft, as: CSN(UInt64(number)))
    }
    return model
  }

  @Test func statesAreFoundByCommit() {
    var model = makeModel()
    #expect(model.state(at: CSN(0))?.count(of: tree) == 0)
    #expect(model.state(at: CSN(3))?.value(of: [0], in: tree) == [3])
    #expect(model.state(at: CSN(99))?.csn == CSN(10))
    model.acknowledge(CSN(6))
    model.acknowledge(CSN(4))
    #expect(model.durable == CSN(6))
    model.forget(before: CSN(3))
    #expect(model.oldestCSN == CSN(3))
    #expect(model.state(at: CSN(2)) == nil)
    // A recovery may still come back to the newest acknowledged commit.
    model.forget(before: CSN(9))
    #expect(model.oldestCSN == CSN(6))
    #expect(model.stateCount == 5)
  }

  @Test func recoveriesAreRecognised() throws {
    var model = makeModel()
    let digests = (0...10).map { model.state(at: CSN($0))?.digest ?? StateDigest() }
    #expect(model.candidates(digests[0]) == [CSN(0)])
    #expect(model.candidates(digests[5]) == [CSN(5), CSN(4)])
    model.acknowledge(CSN(5))
    #expect(model.candidates(digests[5]) == [CSN(5)])
    #expect(model.candidates(digests[3]) == [])
    #expect(model.candidates(digests[8]) == [CSN(8)])
    #expect(model.candidates(StateDigest()) == [])
    model.truncate(to: CSN(8))
    #expect(model.newest.csn == CSN(8))
    #expect(model.durable == CSN(8))
    #expect(model.candidates(digests[9]) == [])
    var draft = model.newest
    draft.put([7], [7], in: tree)
    model.append(draft, as: CSN(9))
    #expect(model.state(at: CSN(9))?.count(of: tree) == 2)
    #expect(model.durableState.csn == CSN(8))
  }
}
