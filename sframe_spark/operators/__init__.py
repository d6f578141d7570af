"""The operators in folders by theme. (Scalar functions, aggregates and laws are in other packages.)"""
