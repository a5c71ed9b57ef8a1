// One read that fails, chosen by its number.

internal import QuireStorage
internal import Synchronization

/// The error of one read of a disk: of that which comes after so many others, whatever file it is of.
package final class FailingRead: Sendable {
  /// How many reads come before the one that fails; below zero once that has been.
  private let left: Latch<Int>
  private let disk: SimulatedDisk

  /// Lets the read fail that comes after `number` others.
  package init(_ number: Int, on disk: SimulatedDisk) {
    left = Latch(number)
    self.disk = disk
    disk.intercept { [self] operation in
      operation.kind == .read && isTurn() ? .error(SystemCode.inputOutput) : nil
    }
  }

  /// Counts a read, and returns whether it is the one that fails.
  private func isTurn() -> Bool {
    left.withLock { left -> Bool in
      left -= 1
      return left == -1
    }
  }

  /// Lets all reads succeed from now on; returns whether one has failed.
  package func end() -> Bool {
    disk.removeInterceptors()
    return left.withLock { $0 < 0 }
  }
}
