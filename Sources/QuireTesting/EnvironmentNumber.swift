// How much a test does where somebody asks for more.

internal import Foundation

/// The number that a variable of the environment has; nil if there is none.
package func environmentNumber(_ name: String) -> Int? {
  ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
}
