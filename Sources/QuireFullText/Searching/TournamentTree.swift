// The least of numbers that change one at a time.

/// Tells the least of some numbers: pairs of them play against each other, and so do the winners, up to the top.
///
/// Invariant: `winners[node]` is the index of the least number below a node, of equal ones the first; the children of a
/// node are at twice its index and behind that, and the numbers are below the last nodes.
struct TournamentTree {
  private var numbers: [Int64]
  private var winners: [Int]

  /// - Parameter count: how many numbers there are; at least one.
  init(count: Int) {
    assert(count > 0, "nothing has no least")
    var size = 1
    while size < count { size *= 2 }
    numbers = Array(repeating: .max, count: size)
    winners = Array(repeating: 0, count: size) + Array(0..<size)
  }

  /// The index of the least number, of equal ones the first.
  var first: Int { winners[1] }
  /// The least number.
  var least: Int64 { numbers[winners[1]] }

  /// Sets all numbers. O(count).
  mutating func fill(_ number: (Int) -> Int64, count: Int) {
    for index in 0..<count { numbers[index] = number(index) }
    for node in stride(from: numbers.count - 1, to: 0, by: -1) { play(node) }
  }

  /// Sets a number. O(log count).
  mutating func set(_ number: Int64, at index: Int) {
    numbers[index] = number
    var node = (index + numbers.count) / 2
    while node > 0 {
      play(node)
      node /= 2
    }
  }

  private mutating func play(_ node: Int) {
    let (left, right) = (winners[2 * node], winners[2 * node + 1])
    winners[node] = numbers[right] < numbers[left] ? right : left
  }
}
