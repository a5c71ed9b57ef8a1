// The names of the edges that a transaction has to do with.

internal import QuireDatabase

/// The numbers of names that are known already, and the names that may have lost their last edge.
///
/// Invariants:
/// 1. A number in `known` is that of the name in the trees.
/// 2. `touched` has the name of every edge that was dropped or hidden in this transaction.
struct TouchedNames {
  private var known: [ByteString: UInt32] = [:]
  private var touched: Set<UInt32> = []
  /// The last name whose number was asked for, and the last one that was touched: most edges have the same.
  private var lastKnown: (name: ByteString, number: UInt32)?
  private var lastTouched: UInt32?

  /// The number of a name, which is given one if it has none.
  mutating func number(of text: String, _ trees: EdgeTrees) throws -> UInt32 {
    let name = ByteString(text)
    if let lastKnown, lastKnown.name == name { return lastKnown.number }
    let number = try known[name] ?? trees.makeNumber(of: text)
    assert((try? trees.number(of: text)).map { $0 == number } ?? true, "a name is remembered under another number")
    known[name] = number
    lastKnown = (name, number)
    return number
  }

  /// An edge has gone; its name may be unused now.
  mutating func insert(_ number: UInt32) {
    if lastTouched == number { return }
    touched.insert(number)
    lastTouched = number
  }

  /// Forgets the names that no edge has any more.
  func forgetUnused(_ trees: EdgeTrees) throws {
    for number in touched { try trees.forgetIfUnused(number) }
  }

  /// The trees have gone back to a savepoint: names in them may have no number any more.
  mutating func didRestore() { (known, lastKnown) = ([:], nil) }

  /// All edges are gone: no name is known. Those that were touched stay so: a savepoint may bring them back.
  mutating func removeAll() { (known, lastKnown) = ([:], nil) }
}
