// Whether code runs where the user interface does.

internal import Foundation

/// The main queue. Where no run loop holds the main thread, as on Linux, other threads work it off.
enum MainQueue {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether the running code is on the main queue, or on the main thread.
  static var isCurrent: Bool { Thread.isMainThread || DispatchQueue.getSpecific(key: key) ?? false }
}
